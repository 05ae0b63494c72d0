"""Curves and points: told apart without color, named at their ends, visible when they are one."""

import math

import pytest

from helpers.draw import Point, curves, points
from helpers.draw.axes import Axis
from helpers.draw.picture import Line, Polygon, Text

LOSSES = [2 + 6 * math.exp(-i / 10) for i in range(40)]


def lines(picture):
    """The curves themselves: lines with more than two points."""
    return [s for s in picture.canvas.shapes if isinstance(s, Line) and len(s.points) > 2]


def shifted(by):
    return [value + by for value in LOSSES]


EXAMPLES = {
    "one": {"a": LOSSES},
    "same": {"one device": LOSSES, "3 ranks": LOSSES, "6 ranks": LOSSES},
    "close ends": {f"run {i}": shifted(i * 0.001 if i < 5 else 3) for i in range(7)},
    "a point": {"a": [3.0]},
    "nothing": {"a": [], "b": [float("nan")]},
    "broken": {"a": LOSSES, "b": [*LOSSES[:5], float("inf"), *LOSSES[6:]]},
    "constant": {"a": [0.0] * 5},
    "tiny": {"a": [1e-9, 2e-9, 3e-9]},
    "long names": {"a name that is much too long for the margin of a picture " * 2: LOSSES},
}


@pytest.mark.parametrize("floor", [None, 1.9])
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_text_has_its_place(name, floor, check_layout):
    picture = curves(EXAMPLES[name], floor=floor)
    check_layout(picture)
    if name == "nothing":
        check_layout(curves(EXAMPLES[name], floor=floor, log="xy"))
    assert picture.svg().startswith("<svg")


def test_curves_differ_by_dashes_and_markers_too():
    picture = curves({f"run {i}": shifted(i) for i in range(6)})
    assert len({line.dash for line in lines(picture)}) == 6
    assert len({line.color for line in lines(picture)}) == 6
    shapes = {
        tuple((round(x - s.points[0][0], 1), round(y - s.points[0][1], 1)) for x, y in s.points)
        for s in picture.canvas.shapes
        if isinstance(s, Polygon) and s.fill != picture.canvas.theme.background
    }
    assert len(shapes) == 6


def test_curves_that_are_one_stay_visible():
    below, above = lines(curves({"one device": LOSSES, "3 ranks": shifted(1e-7)}))
    assert below.width >= 3 * above.width and not below.dash and above.dash
    assert below.color != above.color
    widths = [line.width for line in lines(curves(EXAMPLES["same"]))]
    assert widths == sorted(widths, reverse=True) and len(set(widths)) == 3


@pytest.mark.parametrize(
    "runs, title",
    [
        ({"a": LOSSES}, "a: from 8 to 2.121 at step 39"),
        ({"a": [3.0]}, "a: 3 at step 0"),
        ({"a": []}, "no values"),
        ({"a": LOSSES, "b": list(LOSSES)}, "a and b: exactly the same values"),
        (
            {"one device": LOSSES, "3 ranks": shifted(2e-7)},
            "one device and 3 ranks: one curve, the largest difference is 2e-07",
        ),
        ({"a": shifted(1), "b": LOSSES}, "At step 39: b 2.1; a 3.1"),
        ({"a": shifted(0.01), "b": LOSSES}, "At step 39: b 2.12; a 2.13"),
        ({"a": LOSSES, "b": LOSSES[:10]}, "At the end: a 2.1; b 4.4"),
        ({"a": LOSSES, "b": [8.0, float("nan")]}, "b is not a number at step 1"),
    ],
)
def test_the_words_say_what_was_found_and_no_title_is_invented(runs, title, texts):
    picture = curves(runs)
    assert picture.title == title and title in picture.alt
    assert title not in texts(picture) and texts(picture, bold=True) == []
    assert texts(curves(runs, title="mine"), bold=True) == ["mine"]


def test_a_missing_value_breaks_the_line(texts):
    broken = lines(curves({"b": [*LOSSES[:10], float("nan"), *LOSSES[11:]]}))
    assert [len(line.points) for line in broken] == [10, 29]
    assert "b (not a number at 1)" in texts(curves({"b": [8.0, float("inf")]}))


def test_many_points_keep_their_extremes():
    values = [math.sin(i / 50) for i in range(100_000)]
    values[51_234] = 9.0
    picture = curves({"a": values})
    (line,) = lines(picture)
    assert len(line.points) < 4 * 900
    (top,) = {min(y for _, y in line.points)}
    assert top == min(y for _, y in line.points[1000:2500])


def test_the_alternative_text_has_the_numbers(texts):
    picture = curves({"a": LOSSES}, floor=1.9)
    assert {"floor: 1.9", "a: 2.121"} <= set(texts(picture))
    assert picture.alt == (
        "Curves of loss (nats per token) over step. a: from 8 to 2.121 at step 39. "
        "a: 8 at 0, 2.121 at 39. The floor is 1.9."
    )


def test_a_higher_loss_is_higher_up_and_what_costs_more_is_further_right():
    found = {"every 4": Point(75, [2.6, 2.7], "a"), "once": Point(1.5, [3.3], "a")}
    shapes = points(found, "t", x="MB").canvas.shapes
    shown = {shape.text: shape for shape in shapes if isinstance(shape, Text)}
    assert shown["once"].x < shown["every 4"].x and shown["once"].y < shown["every 4"].y


def test_what_others_are_compared_with_is_gray_and_behind_them(texts):
    runs = {"mine": LOSSES, "healthy, seed 1": shifted(1), "healthy, seed 2": shifted(2)}
    picture = curves(runs, quiet=[name for name in runs if name != "mine"])
    *behind, mine = lines(picture)
    assert {line.color for line in behind} == {picture.canvas.theme.wait}
    assert mine.color == lines(curves({"mine": LOSSES}))[0].color
    assert mine.width > max(line.width for line in behind)
    assert "healthy, seed 1: 3.121" in texts(picture, color=picture.canvas.theme.muted)


@pytest.mark.parametrize(
    "low, high, name, tried, expected",
    [
        (1, 64, "ranks", (1, 2, 4, 8, 16, 32, 64), "1, 2, 4, 8, 16, 32, 64"),
        (1, 64, "ranks", (1, 3, 64), "1, 2, 5, 10, 20, 50"),
        (400, 2e6, "bytes of the tensor", (), "1 kB, 10 kB, 100 kB, 1 MB"),
        (0.0005, 2, "time (s)", (), "1 ms, 10 ms, 100 ms, 1 s"),
        (8e5, 2e9, "parameters", (), "1 M, 10 M, 100 M, 1 B"),
        (1.5, 108, "GB on each rank", (), "2, 5, 10, 20, 50, 100"),
    ],
)
def test_a_logarithmic_axis_says_units_or_the_powers_of_two_tried(low, high, name, tried, expected):
    ticks = Axis(low=low, high=high, name=name, tried=tried, log=True).ticks(10)
    assert ", ".join(label for _, label in ticks) == expected


def test_curves_on_a_logarithmic_axis():
    picture = curves({"a": [1e-16, 1e-8, 1.0]}, "t", log="y")
    (line,) = (s for s in picture.canvas.shapes if isinstance(s, Line) and len(s.points) == 3)
    (_, first), (_, second), (_, third) = line.points
    assert first - second == pytest.approx(second - third)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="needs at least one run: {'name': "):
        curves({})
    with pytest.raises(ValueError, match="needs at least one point"):
        points({}, "t", x="MB")
    with pytest.raises(ValueError, match="a has 0 at 1, and a logarithmic axis"):
        curves({"a": [1.0, 0.0]}, log="y")
