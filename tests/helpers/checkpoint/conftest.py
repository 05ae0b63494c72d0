"""Ranks are kept warm between the tests, as in a notebook: starting them is most of the time."""

import pytest

from helpers.ranks import keep_warm


@pytest.fixture(scope="package", autouse=True)
def warm_ranks():
    keep_warm(2)
    yield
    keep_warm(0)
