"""Words, numbers and axes."""

import pytest

from helpers.draw.text import ticks, width_of
from helpers.words import time_text


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0, "0 s"),
        (5e-10, "0.5 ns"),
        (1.5e-6, "1.5 µs"),
        (0.000999, "999 µs"),
        (0.00099999, "1 ms"),
        (0.12, "120 ms"),
        (2.345, "2.35 s"),
        (3600, "3,600 s"),
    ],
)
def test_time_text(seconds, text):
    assert time_text(seconds) == text


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("text", ["rank 12", "WWWiiill", "120 ms: 34 % waiting (F, B)", "µ×→…≤"])
def test_texts_are_never_wider_than_measured(text, bold):
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
    drawn = TextPath((0, 0), text, size=20, prop=font).get_extents()
    assert drawn.width <= width_of(text, 20, bold) <= 1.35 * drawn.width


@pytest.mark.parametrize(
    "low, high, expected",
    [
        (0, 106, [0, 20, 40, 60, 80, 100]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (1.9, 8.4, [2, 3, 4, 5, 6, 7, 8]),
        (-0.3, 0.3, [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]),
        (5, 5, [5]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert ticks(low, high, at_most=7) == pytest.approx(expected)
