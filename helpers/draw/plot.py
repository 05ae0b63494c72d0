"""The plot under `curves`: lines that stay apart, markers, names at the ends."""

from dataclasses import dataclass

from helpers.draw.axes import Axis, Plot, draw_axes, left_of_axis, stretched
from helpers.draw.picture import PAD, Canvas
from helpers.draw.text import shortened, width_of
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
QUIET = 1.2  # pixels: the width of a curve in the background


@dataclass(slots=True)
class Curve:
    """A run and its look; without a color it's in the background."""

    name: str
    points: list[tuple[float, float]]  # (step, value), finite, in the order of steps
    broken: float | None  # the first step whose value is not a number
    color: str
    dash: tuple[float, ...]
    marker: int
    width: float = 1.8


def value_text(value: float) -> str:
    """Format with four significant digits, enough to tell losses apart."""
    return significant(value, 4)


def draw_plot(
    canvas: Canvas,
    drawn: list[Curve],
    floor: float | None,
    names: tuple[str, str],
    top: float,
    log: str = "",
) -> float:
    """Draw axes, curves and names below `top`, and return the y below.

    names: what the axes show. log: "x", "y" or "xy" for logarithmic axes.
    """
    plot = _plot(canvas, drawn, floor, names, top, log)
    draw_axes(canvas, plot)
    _set_apart(drawn, plot)
    _draw_floor(canvas, plot, floor)
    for curve in drawn:
        _draw_curve(canvas, plot, curve)
    _draw_names(canvas, plot, drawn, floor)
    return plot.bottom + 44


def _plot(
    canvas: Canvas,
    drawn: list[Curve],
    floor: float | None,
    names: tuple[str, str],
    top: float,
    log: str,
) -> Plot:
    steps = [step for c in drawn for step, _ in c.points] or [0.1, 1.0]
    values = [value for c in drawn for _, value in c.points]
    values += [floor] if floor is not None else []
    y = stretched(values, 0.06, names[1], "y" in log)
    last = max(steps) if max(steps) > min(steps) else min(steps) + 1
    x = Axis(min(steps), last, names[0], "x" in log, tuple(steps))
    wide = max(width_of(_name(c, y), 12) for c in drawn)
    if floor is not None:
        wide = max(wide, width_of(_floor_name(floor), 12))
    right = canvas.width - PAD - min(wide, 0.4 * canvas.width) - 44
    return Plot(left_of_axis(y), right, top, top + HEIGHT, x, y)


def _set_apart(drawn: list[Curve], plot: Plot) -> None:
    """If curves lie on each other, make the ones below wider."""
    for i, curve in enumerate(drawn):
        if not curve.color:
            continue
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
    color = _color(canvas, curve)
    for part in _parts(curve):
        line = _thinned([plot.at(point) for point in part])
        if len(line) > 1:
            canvas.line(line, color, curve.width, curve.dash)
    if not curve.points:
        return
    every = max(1, len(curve.points) // 7)
    shift = (curve.marker * every) // 3 % every  # or markers of like curves hide each other
    marked = curve.points[shift::every] if len(curve.points) > 1 else curve.points
    bare = (below or not curve.color) and len(curve.points) > 1
    for point in [] if bare else marked:
        draw_marker(canvas, *plot.at(point), curve.marker, color)


def _color(canvas: Canvas, curve: Curve) -> str:
    """Return a curve's own color, or a pale one if others lie on it; less pale in the dark."""
    if not curve.color:
        return canvas.theme.wait
    return canvas.theme.faded(curve.color, dark=0.7) if curve.width > 2 else curve.color


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


def draw_marker(canvas: Canvas, x: float, y: float, number: int, color: str) -> None:
    """Draw a shape that differs for each curve, with a rim between it and the line below."""
    shape = MARKERS[number % len(MARKERS)]
    rim, inside = RADIUS + 1.1, RADIUS
    canvas.polygon([(x + rim * dx, y + rim * dy) for dx, dy in shape], canvas.theme.background)
    canvas.polygon([(x + inside * dx, y + inside * dy) for dx, dy in shape], color)


def _name(curve: Curve, y: Axis) -> str:
    if not curve.points:
        return f"{curve.name} (no values)"
    if curve.broken is not None:
        return f"{curve.name} (not a number at {curve.broken:g})"
    last = curve.points[-1][1]
    return f"{curve.name}: {y.text(last) if y.log and y.name.endswith('(s)') else value_text(last)}"


def _floor_name(floor: float) -> str:
    return f"floor: {value_text(floor)}"


def _draw_names(canvas: Canvas, plot: Plot, drawn: list[Curve], floor: float | None) -> None:
    """Write each name at the right edge beside the end of its line, none touching another."""
    wanted = [(plot.y_of(c.points[-1][1]) if c.points else plot.top, c) for c in drawn]
    if floor is not None:
        wanted.append((plot.y_of(floor), None))
    wanted.sort(key=lambda pair: round(pair[0]))  # curves that are one: in the order given
    places = spread([y for y, _ in wanted], 17, plot.top, plot.bottom)
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
        room, ink = canvas.width - PAD - x - 32, None if curve.color else canvas.theme.muted
        canvas.text(x + 32, place, shortened(_name(curve, plot.y), 12, room), 12, ink)


def _draw_sample(canvas: Canvas, x: float, y: float, curve: Curve) -> None:
    color = _color(canvas, curve)
    canvas.line([(x, y), (x + 26, y)], color, min(curve.width, 10), curve.dash)
    if curve.width <= 2 and curve.color:
        draw_marker(canvas, x + 13, y, curve.marker, color)


def spread(wanted: list[float], apart: float, top: float, bottom: float) -> list[float]:
    """Return sorted places within top..bottom, `apart` from each other, near the wanted ones."""
    places: list[float] = []
    for y in wanted:
        places.append(max(y, places[-1] + apart) if places else max(y, top))
    limit = bottom
    for i in reversed(range(len(places))):
        places[i] = min(places[i], limit)
        limit = places[i] - apart
    return places
