"""The puzzles are an import root of their own: these tests run in a process of their own."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "puzzles", Path(__file__).parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture(autouse=True)
def no_profile_of_the_users(monkeypatch):
    monkeypatch.delenv("PUZZLES_PROFILE", raising=False)


@pytest.fixture
def refused():
    """refused(step, ranks, …) -> the sentence with which the run is refused, and its class."""
    from cluster import PuzzleError, outcome, run

    def sentence(step, ranks=1, layers=2, samples=4, *more, kind=PuzzleError, **settings):
        with pytest.raises(kind) as caught:
            outcome(run(step, ranks, layers, samples, *more, **settings))
        return str(caught.value)

    return sentence
