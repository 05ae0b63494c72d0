"""Curves and bars: told apart without color, named, visible when they are one."""

import math

import pytest

from helpers.draw import bars, curves
from helpers.draw.plots import _tick
from helpers.draw.style import CURVES, UNKNOWN, WAIT

NAN, INF = math.nan, math.inf
LOSSES = [2 + 6 * math.exp(-i / 10) for i in range(40)]


def shifted(by):
    return [value + by for value in LOSSES]


EXAMPLES = {
    "one": {"a": LOSSES},
    "same": {"one device": LOSSES, "3 ranks": LOSSES, "6 ranks": LOSSES},
    "close ends": {f"run {i}": shifted(i * 0.001 if i < 5 else 3) for i in range(7)},
    "points": {f"point {i}": {2**i: 3.0} for i in range(8)},
    "nothing": {"a": [], "b": [NAN]},
    "broken": {"a": LOSSES, "b": [*LOSSES[:5], INF, *LOSSES[6:]]},
    "tiny": {"a": [1e-9, 2e-9, 3e-9]},
    "long names": {"a name that is much too long for the margin of a picture " * 2: LOSSES},
}


@pytest.mark.parametrize("floor", [None, 1.9])
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_text_has_its_place(name, floor, check_layout):
    check_layout(curves(EXAMPLES[name], "a title " * 20, floor=floor))
    if name in ("nothing", "one", "tiny"):
        runs = {k: dict(enumerate(v, 1)) for k, v in EXAMPLES[name].items()}
        check_layout(curves(runs, log="xy"))


def test_curves_differ_by_dashes_and_markers_and_stay_visible_where_they_are_one():
    lines = curves({f"run {i}": shifted(i) for i in range(6)}).lines
    looks = [(line.get_color(), line.get_marker(), line._unscaled_dash_pattern) for line in lines]
    assert [len(set(map(str, each))) for each in zip(*looks, strict=True)] == [6, 6, 6]
    below, above = curves({"one device": LOSSES, "3 ranks": shifted(1e-7)}).lines
    assert below.get_lw() >= 3 * above.get_lw() and below.get_alpha() < 1
    assert below.get_ls() == "-" != above.get_ls() and below.get_color() != above.get_color()
    ax = curves(EXAMPLES["same"])
    widths = [line.get_lw() for line in ax.lines]
    assert widths == sorted(widths, reverse=True) and len(set(widths)) == 3
    assert "They have exactly the same values." in ax.alt
    points = curves({"a": {1: 3}, "b": {1: 3}}).lines
    assert all(line.get_marker() not in ("None", "") for line in points)


def test_the_words_have_the_numbers_and_say_what_is_missing(texts):
    ax = curves({"a": LOSSES}, "mine", floor=1.9)
    assert {"floor: 1.9", "a: 2.121"} <= set(texts(ax)) and texts(ax, weight="bold") == ["mine"]
    start = "Curves of loss (nats per token) over step. mine."
    assert ax.alt == f"{start} a: 8 at 0, 2.121 at 39. The floor is 1.9."
    ax = curves({"b": [*LOSSES[:10], NAN, *LOSSES[11:]]})
    assert [*map(math.isnan, ax.lines[0].get_ydata())].index(True) == 10
    assert "b (not a number at 10)" in texts(ax) and "not a number at 10" in ax.alt
    assert "b (not a number at 1)" in texts(curves({"b": [8.0, INF]}))


def test_names_follow_where_the_curves_end_by_then():
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
    "name, tried, expected",
    [
        ("ranks", (1, 2, 4, 8, 16, 32, 64), "1, 2, 4, 8, 16, 32, 64"),
        ("ranks", (1, 3, 64), "1, 2, 5, 10, 20, 50"),
        ("bytes of the tensor", (400, 3e3, 2e6), "1 kB, 10 kB, 100 kB, 1 MB"),
        ("time (s)", (0.0005, 0.01, 2), "1 ms, 10 ms, 100 ms, 1 s"),
        ("parameters", (8e5, 1e8, 2e9), "1 M, 10 M, 100 M, 1 B"),
    ],
)
def test_a_logarithmic_axis_says_units_or_the_powers_of_two_tried(name, tried, expected):
    ax = curves({"a": dict.fromkeys(tried, 1.0)}, x=name, log="x")
    at = [v for v in ax.xaxis.get_majorticklocs() if tried[0] <= v <= tried[-1]]
    assert ", ".join(_tick(v, name) for v in at) == expected


@pytest.mark.parametrize(
    "draw, words",
    [
        (lambda: curves({}), "needs at least one run: {'name': "),
        (lambda: curves({"a": [1.0, 0.0]}, log="y"), "a has 0 at 1, and a logarithmic axis"),
        (lambda: bars({}), "needs at least one row"),
        (lambda: bars({"a": {"weights": NAN}}), "weights of a is nan: a bar shows 0 or more"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, words):
    with pytest.raises(ValueError, match=words):
        draw()


def test_a_bar_is_as_long_as_its_size_and_a_narrow_part_has_its_value_above(widths, texts):
    rows = {"one": {"weights": 2.0, "mine": 1.0}, "two": {"weights": 1.0, "mine": 4.0}}
    own = [wide for wide in widths(bars(rows), UNKNOWN) if wide != 16]
    assert own[1] == pytest.approx(4 * own[0])
    rows = {"one": {"weights": 100.0, "gradients": 3.0, "optimizer": 0.3, "bubble": 20.0}}
    shown = texts(bars(rows, text=str))  # each part has a number and a word
    assert {"weights 100.0", "2: 3.0", "3: 0.3", "bubble 20.0", "123.3", "gradients"} <= set(shown)
    assert any(patch.get_hatch() for patch in bars(rows).patches)


def test_what_is_beyond_the_limit_is_said_and_framed(texts, check_layout):
    within = bars({"row": {"a": 2.0}}, "t", text=str, limit=4.0, limit_name="room:")
    assert "room: 4.0" in texts(within) and "more than" not in within.alt
    beyond = bars({"row": {"a": 5.0, "b": 0.1}}, "t", text=str, limit=4.0)
    assert "row: 5.1, more than the 4.0 there are; a 98 %." in beyond.alt
    assert len(beyond.patches) == len(within.patches) + 3
    check_layout(beyond)
