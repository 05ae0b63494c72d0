"""Curves and bars: told apart without color, named, visible when they are one."""

import math

import pytest

from helpers.draw import bars, curves
from helpers.draw.plots import _tick
from helpers.draw.style import CURVES, UNKNOWN, WAIT

LOSSES = [2 + 6 * math.exp(-i / 10) for i in range(40)]


def shifted(by):
    return [value + by for value in LOSSES]


EXAMPLES = {
    "one": {"a": LOSSES},
    "same": {"one device": LOSSES, "3 ranks": LOSSES, "6 ranks": LOSSES},
    "close ends": {f"run {i}": shifted(i * 0.001 if i < 5 else 3) for i in range(7)},
    "points": {f"point {i}": {2**i: 3.0} for i in range(8)},
    "nothing": {"a": [], "b": [float("nan")]},
    "broken": {"a": LOSSES, "b": [*LOSSES[:5], float("inf"), *LOSSES[6:]]},
    "constant": {"a": [0.0] * 5},
    "tiny": {"a": [1e-9, 2e-9, 3e-9]},
    "long names": {"a name that is much too long for the margin of a picture " * 2: LOSSES},
    "short": {"a": LOSSES, "b": LOSSES[:10]},
}


@pytest.mark.parametrize("floor", [None, 1.9])
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_text_has_its_place(name, floor, check_layout):
    check_layout(curves(EXAMPLES[name], "a title " * 20, floor=floor))
    if name in ("nothing", "one", "tiny"):
        check_layout(
            curves({k: dict(enumerate(v, 1)) for k, v in EXAMPLES[name].items()}, log="xy")
        )


def test_curves_differ_by_dashes_and_markers_too():
    lines = curves({f"run {i}": shifted(i) for i in range(6)}).lines
    looks = [(line.get_color(), line.get_marker(), line._unscaled_dash_pattern) for line in lines]
    assert [len(set(map(str, each))) for each in zip(*looks, strict=True)] == [6, 6, 6]


def test_curves_that_are_one_stay_visible():
    below, above = curves({"one device": LOSSES, "3 ranks": shifted(1e-7)}).lines
    assert below.get_lw() >= 3 * above.get_lw() and below.get_alpha() < 1
    assert below.get_ls() == "-" != above.get_ls() and below.get_color() != above.get_color()
    ax = curves(EXAMPLES["same"])
    widths = [line.get_lw() for line in ax.lines]
    assert widths == sorted(widths, reverse=True) and len(set(widths)) == 3
    assert "They have exactly the same values." in ax.alt


def test_the_words_have_the_numbers_and_no_title_is_invented(texts):
    ax = curves({"a": LOSSES}, floor=1.9)
    assert {"floor: 1.9", "a: 2.121"} <= set(texts(ax)) and texts(ax, weight="bold") == []
    assert ax.alt == (
        "Curves of loss (nats per token) over step. a: 8 at 0, 2.121 at 39. The floor is 1.9."
    )
    assert texts(curves({"a": LOSSES}, title="mine"), weight="bold") == ["mine"]


def test_a_missing_value_breaks_the_line_and_the_name_says_so(texts):
    ax = curves({"b": [*LOSSES[:10], float("nan"), *LOSSES[11:]]})
    assert [*map(math.isnan, ax.lines[0].get_ydata())].index(True) == 10
    assert "b (not a number at 10)" in texts(ax) and "not a number at 10" in ax.alt
    assert "b (not a number at 1)" in texts(curves({"b": [8.0, float("inf")]}))


def test_names_follow_where_the_curves_end_by_then(texts):
    def high(ax):
        ax.late(ax)
        (name,) = (text for text in ax.texts if text.get_text() == "a: 2.121")
        return name.get_position()[1]

    ax = curves({"a": LOSSES})
    ax.set_ylim(2, 100)
    assert high(ax) > high(curves({"a": LOSSES})), "further down"
    before = len(ax.get_children())
    ax.svg()
    assert len(ax.get_children()) == before, "drawing it leaves nothing behind"


def test_what_others_are_compared_with_is_gray_and_behind_them(texts):
    runs = {"mine": LOSSES, "healthy, seed 1": shifted(1), "healthy, seed 2": shifted(2)}
    ax = curves(runs, quiet=[name for name in runs if name != "mine"])
    *behind, mine = ax.lines
    assert {line.get_color() for line in behind} == {WAIT} and mine.get_color() == CURVES[0]
    assert mine.get_lw() > max(line.get_lw() for line in behind)
    assert "healthy, seed 1: 3.121" in texts(ax)


@pytest.mark.parametrize(
    "low, high, name, tried, expected",
    [
        (1, 64, "ranks", (1, 2, 4, 8, 16, 32, 64), "1, 2, 4, 8, 16, 32, 64"),
        (1, 64, "ranks", (1, 3, 64), "1, 2, 5, 10, 20, 50"),
        (400, 2e6, "bytes of the tensor", (400, 3e3, 2e6), "1 kB, 10 kB, 100 kB, 1 MB"),
        (0.0005, 2, "time (s)", (0.0005, 0.01, 2), "1 ms, 10 ms, 100 ms, 1 s"),
        (8e5, 2e9, "parameters", (8e5, 1e8, 2e9), "1 M, 10 M, 100 M, 1 B"),
    ],
)
def test_a_logarithmic_axis_says_units_or_the_powers_of_two_tried(low, high, name, tried, expected):
    ax = curves({"a": dict.fromkeys(tried, 1.0)}, x=name, log="x")
    shown = [_tick(v, name) for v in ax.xaxis.get_majorticklocs() if low <= v <= high]
    assert ", ".join(shown) == expected


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="needs at least one run: {'name': "):
        curves({})
    with pytest.raises(ValueError, match="a has 0 at 1, and a logarithmic axis"):
        curves({"a": [1.0, 0.0]}, log="y")
    with pytest.raises(ValueError, match="needs at least one row"):
        bars({})
    with pytest.raises(ValueError, match="weights of a is nan: a bar shows 0 or more"):
        bars({"a": {"weights": math.nan}})


def test_the_same_size_is_the_same_length_in_every_row(widths, texts, check_layout):
    rows = {"one": {"weights": 2.0, "mine": 1.0}, "two": {"weights": 1.0, "mine": 4.0}}
    ax = bars(rows, "found", text=str)
    assert {"one", "two", "3.0", "5.0", "weights 2.0", "mine 4.0", "found"} <= set(texts(ax))
    own = [wide for wide in widths(ax, UNKNOWN) if wide != 16]
    assert own[1] == pytest.approx(4 * own[0])
    check_layout(bars(rows, "found", text=str))


def test_what_is_beyond_the_limit_is_said_and_framed(texts, check_layout):
    within = bars({"row": {"a": 2.0}}, "t", text=str, limit=4.0, limit_name="room:")
    assert "room: 4.0" in texts(within) and "more than" not in within.alt
    beyond = bars({"row": {"a": 5.0}}, "t", text=str, limit=4.0)
    assert "row: 5.0, more than the 4.0 there are; a 100 %." in beyond.alt
    assert len(beyond.patches) == len(within.patches) + 1
    check_layout(bars({"row": {"a": 5.0}}, "t", text=str, limit=4.0))


def test_a_part_that_is_too_narrow_has_its_value_above_it(texts, check_layout):
    """Color is never the only sign: each part has a number and a word."""
    rows = {"one": {"weights": 100.0, "gradients": 3.0, "optimizer": 2.0, "bubble": 20.0}}
    shown = texts(bars(rows, text=str))
    assert {"weights 100.0", "2: 3.0", "3: 2.0", "bubble 20.0", "125.0", "gradients"} <= set(shown)
    check_layout(bars(rows, text=str))
    assert any(patch.get_hatch() for patch in bars(rows).patches)
