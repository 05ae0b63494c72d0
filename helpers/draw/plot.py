"""The plot under `curves`: axes, lines that stay apart, markers, names at the ends."""

import math
from dataclasses import dataclass

from helpers.draw.picture import PAD, Canvas
from helpers.draw.text import power_label, powers, shortened, tick_labels, ticks, width_of
from helpers.words import significant

HEIGHT = 300
SAME = 1.5  # pixels by which curves may differ and still be one
DOTS = (1.5, 3)  # the floor
_SQUARE = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
_UP = [(0, -1.3), (1.2, 1), (-1.2, 1)]
_DIAMOND = [(0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)]
_DOWN = [(0, 1.3), (1.2, -1), (-1.2, -1)]
_PLUS = [(-0.4, -1.3), (0.4, -1.3), (0.4, -0.4), (1.3, -0.4), (1.3, 0.4), (0.4, 0.4), (0.4, 1.3),
         (-0.4, 1.3), (-0.4, 0.4), (-1.3, 0.4), (-1.3, -0.4), (-0.4, -0.4)]  # fmt: skip
_ROUND = [(1.1, 0.46), (0.46, 1.1), (-0.46, 1.1), (-1.1, 0.46), (-1.1, -0.46), (-0.46, -1.1),
          (0.46, -1.1), (1.1, -0.46)]  # fmt: skip
MARKERS = (_SQUARE, _UP, _DIAMOND, _DOWN, _PLUS, _ROUND)
RADIUS = 3.6


@dataclass(slots=True)
class Curve:
    """A run and its look."""

    name: str
    points: list[tuple[float, float]]  # (step, value), finite, in the order of steps
    broken: float | None  # the first step whose value is not a number
    colour: str
    dash: tuple[float, ...]
    marker: int
    width: float = 1.8


@dataclass(slots=True)
class Plot:
    """The area between the axes: its edges in pixels, and the steps and values there.

    log: "x", "y" or "xy" for logarithmic axes; `steps` and `values` are the ends as they are.
    """

    left: float
    right: float
    top: float
    bottom: float
    steps: tuple[float, float]
    values: tuple[float, float]
    log: str = ""

    def x_of(self, step: float) -> float:
        return self.left + (self.right - self.left) * _share(step, self.steps, "x" in self.log)

    def y_of(self, value: float) -> float:
        share = _share(value, self.values, "y" in self.log)
        return self.bottom - (self.bottom - self.top) * share

    def at(self, point: tuple[float, float]) -> tuple[float, float]:
        return self.x_of(point[0]), self.y_of(point[1])


def _share(value: float, ends: tuple[float, float], log: bool) -> float:
    """Return how far `value` lies from the low end to the high one, 0 to 1."""
    low, high = map(math.log10, ends) if log else ends
    return ((math.log10(value) if log else value) - low) / (high - low)


def stretched(low: float, high: float, margin: float, log: bool) -> tuple[float, float]:
    """Return the two ends with a margin, a share of their distance, on both sides."""
    if log:
        ratio = (high / low) ** margin if high > low else 2.0
        return low / ratio, high * ratio
    more = margin * (high - low) or margin * abs(high) or 1.0
    return low - more, high + more


def labeled(low: float, high: float, at_most: int, log: bool) -> list[tuple[float, str]]:
    """Return where an axis has its ticks, and what they say."""
    if log:
        return [(value, power_label(value)) for value in powers(low, high, at_most)]
    values = ticks(low, high, at_most)
    return list(zip(values, tick_labels(values), strict=True))


def value_text(value: float) -> str:
    """Format with four significant digits, enough to tell losses apart."""
    return significant(value, 4)


def draw_plot(
    canvas: Canvas, drawn: list[Curve], floor: float | None, x: str, top: float, log: str = ""
) -> float:
    """Draw axes, curves and names below `top`, and return the y below. x: what the steps are."""
    plot = _plot(canvas, drawn, floor, top, log)
    draw_axes(canvas, plot, x)
    _set_apart(drawn, plot)
    _draw_floor(canvas, plot, floor)
    for curve in drawn:
        _draw_curve(canvas, plot, curve)
    _draw_names(canvas, plot, drawn, floor)
    return plot.bottom + 44


def _plot(canvas: Canvas, drawn: list[Curve], floor: float | None, top: float, log: str) -> Plot:
    steps = [step for c in drawn for step, _ in c.points] or [0.0, 1.0]
    values = [value for c in drawn for _, value in c.points]
    values += [floor] if floor is not None else []
    edges = stretched(min(values, default=0.0), max(values, default=1.0), 0.06, "y" in log)
    last = max(steps) if max(steps) > min(steps) else min(steps) + 1
    names = max(width_of(_name(c), 12) for c in drawn)
    if floor is not None:
        names = max(names, width_of(_floor_name(floor), 12))
    right = canvas.width - PAD - min(names, 0.4 * canvas.width) - 44
    left = left_of_axis(edges, log)
    return Plot(left, right, top, top + HEIGHT, (min(steps), last), edges, log)


def left_of_axis(values: tuple[float, float], log: str) -> float:
    """Return the x of the left axis, with room for its labels."""
    return PAD + max(width_of(text, 11) for _, text in labeled(*values, 7, "y" in log)) + 8


def draw_axes(canvas: Canvas, plot: Plot, x: str) -> None:
    """Draw the grid with its numbers, and below it what the numbers of the x axis are."""
    theme = canvas.theme
    for value, label in labeled(*plot.values, 7, "y" in plot.log):
        y = plot.y_of(value)
        canvas.line([(plot.left, y), (plot.right, y)], theme.grid)
        canvas.text(plot.left - 8, y, label, 11, theme.muted, "end")
    canvas.line([(plot.left, plot.bottom), (plot.right, plot.bottom)], theme.muted)
    steps = labeled(*plot.steps, 10, "x" in plot.log)
    whole = [step for step, _ in steps if step == int(step)]
    if whole and "x" not in plot.log:  # no half steps
        steps = list(zip(whole, tick_labels(whole), strict=True))
    for step, label in steps:
        at = plot.x_of(step)
        canvas.line([(at, plot.bottom), (at, plot.bottom + 4)], theme.muted)
        canvas.text(at, plot.bottom + 14, label, 11, theme.muted, "middle")
    middle = (plot.left + plot.right) / 2
    canvas.text(middle, plot.bottom + 31, x, 11, theme.muted, "middle")


def _set_apart(drawn: list[Curve], plot: Plot) -> None:
    """If curves lie on each other, make the ones below wider."""
    for i, curve in enumerate(drawn):
        above = sum(_same(curve, other, plot) for other in drawn[i + 1 :])
        if above:
            curve.width, curve.dash = 1.8 + 4.0 * above, ()
        elif any(_same(curve, other, plot) for other in drawn[:i]) and not curve.dash:
            curve.dash = (7, 3)


def _same(a: Curve, b: Curve, plot: Plot) -> bool:
    """Return whether the curves look the same at the steps that they share."""
    values = dict(b.points)
    shared = [(value, values[step]) for step, value in a.points if step in values]
    return bool(shared) and all(abs(plot.y_of(p) - plot.y_of(q)) <= SAME for p, q in shared)


def _draw_floor(canvas: Canvas, plot: Plot, floor: float | None) -> None:
    if floor is not None:
        y = plot.y_of(floor)
        canvas.line([(plot.left, y), (plot.right, y)], canvas.theme.text, 1.2, DOTS)


def _draw_curve(canvas: Canvas, plot: Plot, curve: Curve) -> None:
    below = curve.width > 2  # others lie on it
    colour = _colour(canvas, curve)
    for part in _parts(curve):
        line = _thinned([plot.at(point) for point in part])
        if len(line) > 1:
            canvas.line(line, colour, curve.width, curve.dash)
    if not curve.points:
        return
    every = max(1, len(curve.points) // 7)
    shift = (curve.marker * every) // 3 % every  # or markers of like curves hide each other
    marked = curve.points[shift::every] if len(curve.points) > 1 else curve.points
    for point in [] if below and len(curve.points) > 1 else marked:
        draw_marker(canvas, *plot.at(point), curve.marker, colour)


def _colour(canvas: Canvas, curve: Curve) -> str:
    """Return a pale color for a curve below others; less pale on a dark background."""
    share = 0.7 if canvas.theme.name == "dark" else 0.45
    return canvas.theme.faded(curve.colour, share) if curve.width > 2 else curve.colour


def _parts(curve: Curve) -> list[list[tuple[float, float]]]:
    """Return the curve up to its first missing value, and the rest."""
    if curve.broken is None:
        return [curve.points]
    return [
        [p for p in curve.points if p[0] < curve.broken],
        [p for p in curve.points if p[0] > curve.broken],
    ]


def _thinned(line: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep at most four points for each column of pixels: first, lowest, highest, last."""
    columns: dict[int, list[tuple[float, float]]] = {}
    for point in line:
        columns.setdefault(int(point[0]), []).append(point)
    kept: list[tuple[float, float]] = []
    for points in columns.values():
        low, high = min(points, key=lambda p: p[1]), max(points, key=lambda p: p[1])
        kept += sorted({points[0], low, high, points[-1]})
    return kept


def draw_marker(canvas: Canvas, x: float, y: float, number: int, colour: str) -> None:
    """Draw a shape that differs for each curve, with a rim between it and the line below."""
    shape = MARKERS[number % len(MARKERS)]
    rim, inside = RADIUS + 1.1, RADIUS
    canvas.polygon([(x + rim * dx, y + rim * dy) for dx, dy in shape], canvas.theme.background)
    canvas.polygon([(x + inside * dx, y + inside * dy) for dx, dy in shape], colour)


def _name(curve: Curve) -> str:
    if not curve.points:
        return f"{curve.name} (no values)"
    if curve.broken is not None:
        return f"{curve.name} (not a number at {curve.broken:g})"
    return f"{curve.name}: {value_text(curve.points[-1][1])}"


def _floor_name(floor: float) -> str:
    return f"floor: {value_text(floor)}"


def _draw_names(canvas: Canvas, plot: Plot, drawn: list[Curve], floor: float | None) -> None:
    """Write each name at the right edge beside the end of its line, none touching another."""
    wanted = [(plot.y_of(c.points[-1][1]) if c.points else plot.top, c) for c in drawn]
    if floor is not None:
        wanted.append((plot.y_of(floor), None))
    wanted.sort(key=lambda pair: round(pair[0]))  # curves that are one: in the order given
    places = _spread([y for y, _ in wanted], 17, plot.top, plot.bottom)
    x = plot.right + 8
    for (y, curve), place in zip(wanted, places, strict=True):
        if curve is None:
            canvas.line([(x, place), (x + 26, place)], canvas.theme.text, 1.2, DOTS)
            canvas.text(x + 32, place, _floor_name(floor), 12)
            continue
        if curve.points and abs(place - y) > 6:
            end = plot.at(curve.points[-1])
            canvas.line([end, (x, place)], canvas.theme.grid)
        _draw_sample(canvas, x, place, curve)
        room = canvas.width - PAD - x - 32
        canvas.text(x + 32, place, shortened(_name(curve), 12, room), 12)


def _draw_sample(canvas: Canvas, x: float, y: float, curve: Curve) -> None:
    colour = _colour(canvas, curve)
    canvas.line([(x, y), (x + 26, y)], colour, min(curve.width, 10), curve.dash)
    if curve.width <= 2:
        draw_marker(canvas, x + 13, y, curve.marker, colour)


def _spread(wanted: list[float], apart: float, top: float, bottom: float) -> list[float]:
    """Return sorted places within top..bottom, `apart` from each other, near the wanted ones."""
    places: list[float] = []
    for y in wanted:
        places.append(max(y, places[-1] + apart) if places else max(y, top))
    limit = bottom
    for i in reversed(range(len(places))):
        places[i] = min(places[i], limit)
        limit = places[i] - apart
    return places
