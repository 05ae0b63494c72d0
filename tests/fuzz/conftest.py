"""How hard to look for what nobody thought of: a few seconds in `make test-all`, the full counts
in `make stress` (LAB_REPEAT=100).

A fuzz test draws its cases from `numbers`, and says the seed of a case that fails, so that it can
be drawn again: LAB_SEED=… python -m pytest tests/fuzz.
"""

import os
import random

import pytest

LONG = int(os.environ.get("LAB_REPEAT", 3)) >= 100


def pytest_collection_modifyitems(items):
    for item in items if LONG else ():
        if "/fuzz/" in item.path.as_posix():
            item.add_marker(pytest.mark.timeout(7200))


@pytest.fixture
def effort():
    """The number of cases to try: `effort(few, many)`."""
    return lambda few, many: many if LONG else few


@pytest.fixture
def numbers():
    """The random numbers of a test: the same ones in each short run, new ones in `make stress`."""
    seed = int(os.environ.get("LAB_SEED", random.randrange(1 << 32) if LONG else 7))
    print(f"LAB_SEED={seed}")  # pytest shows it where the test fails
    return random.Random(seed)
