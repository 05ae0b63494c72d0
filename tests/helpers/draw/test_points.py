"""Points: each has its name beside it and a bar over all its values; axes may be logarithmic."""

import pytest

from helpers.draw import Point, curves, points
from helpers.draw.picture import Line, Text

FOUND = {
    "gradients, every step": Point(300, [2.2, 2.4, 2.3], "gradients"),
    "weights, every step": Point(300, [2.4, 2.5, 2.6], "weights"),
    "every 4": Point(75, [2.6, 2.7], "weights"),
    "once": Point(1.5, [3.3], "weights"),
}


def texts(picture):
    return {s.text: s for s in picture.canvas.shapes if isinstance(s, Text)}


def test_a_name_stands_beside_its_point_and_the_order_is_that_of_the_costs():
    shown = texts(points(FOUND, "t", x="MB"))
    assert shown["once"].x < shown["every 4"].x < shown["weights, every step"].x
    assert shown["once"].y < shown["every 4"].y  # a higher loss is higher up


def test_no_points():
    with pytest.raises(ValueError, match="needs at least one point"):
        points({}, "t", x="MB")


def test_curves_on_a_logarithmic_axis():
    picture = curves({"a": [1e-16, 1e-8, 1.0]}, "t", log="y")
    (line,) = (s for s in picture.canvas.shapes if isinstance(s, Line) and len(s.points) == 3)
    (_, first), (_, second), (_, third) = line.points
    assert first - second == pytest.approx(second - third)
    with pytest.raises(ValueError, match="a has 0 at 1, and a logarithmic axis"):
        curves({"a": [1.0, 0.0]}, log="y")
