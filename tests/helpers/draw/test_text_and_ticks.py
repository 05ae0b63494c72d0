"""Words, numbers and axes."""

import pytest

from helpers.draw.text import (
    bytes_text,
    listed,
    percent,
    significant,
    ticks,
    time_text,
    width_of,
)


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


@pytest.mark.parametrize(
    "share, text",
    [
        (0.336, "34 %"),
        (1.0, "100 %"),
        (0.004, "0.4 %"),
        (1e-17, "0 %"),
        (0, "0 %"),
        (-1e-17, "0 %"),
    ],
)
def test_percent(share, text):
    assert percent(share) == text


def test_other_numbers():
    assert [bytes_text(n) for n in (0, 999, 600e6, 1.234e9)] == [
        "0 B",
        "999 B",
        "600 MB",
        "1.23 GB",
    ]
    assert [significant(v) for v in (0, 1234, 0.00012, 2.5e-7, 1e9)] == [
        "0",
        "1,230",
        "0.00012",
        "2.50e-07",
        "1.00e+09",
    ]
    assert [listed(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]


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
