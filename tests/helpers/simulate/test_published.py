"""The rates that the zero-bubble paper publishes, to all four digits."""

import pytest

from helpers.simulate.published import BUILDERS, ROWS, as_published, simulated_rate


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.model}-{row.m}")
def test_the_clock_gives_the_published_rate(row, name):
    assert round(simulated_rate(row, name), 4) == row.rates[name]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.model}-{row.m}")
def test_both_readings_of_the_interleaved_column(row):
    published, honest = as_published(row), simulated_rate(row, "interleaved")
    assert round(published, 4) == row.rates["interleaved"]
    assert published < honest < published + 0.005
