"""Named points with their spread: what several methods cost, and what each of them reached.

A point is the mean of several runs, its bar reaches from the lowest of them to the highest, and its
name stands beside it: nobody has to look up a color in a legend.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from helpers.draw.axes import Plot, draw_axes, left_of_axis, stretched
from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.plot import HEIGHT, draw_marker
from helpers.draw.style import CURVES
from helpers.draw.text import width_of
from helpers.words import significant

BESIDE = 11.0  # pixels from a point to its name
LINE = 15.0


@dataclass(frozen=True)
class Point:
    """What several runs of one method gave.

    at: what they cost (the x axis). values: what each run reached. family: points of one family
    share a color and a marker, and a thin line connects them.
    """

    at: float
    values: Sequence[float]
    family: str = ""

    @property
    def middle(self) -> float:
        return mean(self.values)


def points(
    found: Mapping[str, Point],
    title: str,
    *,
    x: str,
    y: str = "loss (nats per token)",
    log: str = "x",
) -> Picture:
    """Draw each method as a point with its name: ``points({"every step": Point(1.2, losses)}, …)``.

    Args:
        found: the points by name; the mean is marked, and a bar reaches over all values.
        title: what was found.
        x, y: what the axes show, with the unit.
        log: "x", "y" or "xy" for logarithmic axes; what they show must be above 0.

    Raises:
        ValueError: if there are no points.
    """
    if not found:
        raise ValueError("points() needs at least one point: {'name': Point(at, values)}")
    canvas = Canvas()
    top = canvas.heading(title)
    canvas.text(PAD, top + 14, y, 11, canvas.theme.muted)
    plot = _plot(found, top + 30, (x, y), log)
    draw_axes(canvas, plot)
    families = list(dict.fromkeys(point.family for point in found.values()))
    for number, family in enumerate(families):
        _draw_family(canvas, plot, [p for p in found.values() if p.family == family], number)
    _draw_names(canvas, plot, found)
    canvas.height = plot.bottom + 44
    return Picture(canvas, title, _in_words(title, found, x, y))


def _plot(found: Mapping[str, Point], top: float, names: tuple[str, str], log: str) -> Plot:
    x = stretched([point.at for point in found.values()], 0.08, names[0], "x" in log)
    values = [value for point in found.values() for value in point.values]
    y = stretched(values, 0.12, names[1], "y" in log)
    return Plot(left_of_axis(y), WIDE - PAD, top, top + HEIGHT, x, y)


def _draw_family(canvas: Canvas, plot: Plot, members: list[Point], number: int) -> None:
    color = CURVES[number % len(CURVES)]
    members = sorted(members, key=lambda point: point.at)
    if len(members) > 1:
        line = [plot.at((point.at, point.middle)) for point in members]
        canvas.line(line, canvas.theme.faded(color, 0.6), 1.2, (4, 3))
    for point in members:
        x = plot.x_of(point.at)
        low, high = (plot.y_of(edge(point.values)) for edge in (min, max))
        for end in (low, high):
            canvas.line([(x - 4, end), (x + 4, end)], color, 1.4)
        canvas.line([(x, low), (x, high)], color, 1.4)
        draw_marker(canvas, *plot.at((point.at, point.middle)), number, color)


def _draw_names(canvas: Canvas, plot: Plot, found: Mapping[str, Point]) -> None:
    """Write each name beside its point, where it covers no other point, bar or name."""
    taken = [_box_of(plot, point) for point in found.values()]
    for name, point in sorted(found.items(), key=lambda item: plot.y_of(item[1].middle)):
        x, y = plot.at((point.at, point.middle))
        size = width_of(name, 12)
        choices = [
            (x + side * BESIDE - (size if side < 0 else 0), y + shift)
            for shift in (0, -LINE, LINE, -2 * LINE, 2 * LINE, -3 * LINE, 3 * LINE)
            for side in (1, -1)
        ]
        boxes = [(left, at - LINE / 2, left + size, at + LINE / 2) for left, at in choices]
        inside = [b for b in boxes if b[0] >= plot.left and b[2] <= canvas.width - 2]
        box = next((b for b in inside if not any(_touch(b, other) for other in taken)), boxes[0])
        taken.append(box)
        canvas.rect(box[0] - 2, box[1] + 1, size + 4, LINE - 2, canvas.theme.background)
        canvas.text(box[0], (box[1] + box[3]) / 2, name, 12)


def _box_of(plot: Plot, point: Point) -> tuple[float, float, float, float]:
    x = plot.x_of(point.at)
    return x - 6, plot.y_of(max(point.values)) - 3, x + 6, plot.y_of(min(point.values)) + 3


def _touch(a: tuple, b: tuple) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _in_words(title: str, found: Mapping[str, Point], x: str, y: str) -> str:
    sentences = [f"Points of {y} over {x}. {title}."]
    for name, point in found.items():
        spread = f", from {significant(min(point.values))} to {significant(max(point.values))}"
        sentences.append(
            f"{name}: {significant(point.middle)} at {significant(point.at)}"
            f"{spread if len(point.values) > 1 else ''}."
        )
    return " ".join(sentences)
