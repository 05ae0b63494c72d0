"""The axes of a plot: where a value lies, which values carry a tick, and what the tick says.

A logarithmic axis says 1 kB, 1 ms or 1 M, and 1, 2, 4, 8 where that's what was tried. It never has
fewer than three ticks if round values allow it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from helpers.draw.picture import PAD, Canvas
from helpers.draw.text import power_label, powers, powers_of_two, tick_labels, ticks, width_of
from helpers.words import bytes_text, time_text

LARGE = ((1e12, "T"), (1e9, "B"), (1e6, "M"))  # of a count, as the field says them: 7 B parameters


@dataclass(slots=True)
class Axis:
    """An axis: its ends as values, what it shows, and the values that the data have on it.

    name: with its unit, as in "time (s)". log: whether it's logarithmic.
    """

    low: float
    high: float
    name: str = ""
    log: bool = False
    tried: tuple[float, ...] = ()

    def share(self, value: float) -> float:
        """Return how far `value` lies from the low end to the high one, 0 to 1."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self, at_most: int) -> list[tuple[float, str]]:
        """Return where the axis has its ticks, and what they say."""
        if self.log:
            values = [] if self.name.startswith("bytes") else powers_of_two(self.tried, at_most)
            values = values or powers(self.low, self.high, at_most)
            return [(value, self.text(value)) for value in values]
        values = ticks(self.low, self.high, at_most)
        return list(zip(values, tick_labels(values), strict=True))

    def text(self, value: float) -> str:
        """Return a value of a logarithmic axis with the unit that the axis counts in."""
        if self.name.startswith("bytes"):
            return bytes_text(value)
        if self.name.endswith("(s)"):
            return time_text(value)
        for size, letter in LARGE:
            if size <= value < 1000 * size:
                return f"{value / size:g} {letter}"
        return power_label(value)


@dataclass(slots=True)
class Plot:
    """The area between the axes, its edges in pixels."""

    left: float
    right: float
    top: float
    bottom: float
    x: Axis
    y: Axis

    def x_of(self, step: float) -> float:
        return self.left + (self.right - self.left) * self.x.share(step)

    def y_of(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * self.y.share(value)

    def at(self, point: tuple[float, float]) -> tuple[float, float]:
        return self.x_of(point[0]), self.y_of(point[1])


def stretched(values: Iterable[float], margin: float, name: str, log: bool) -> Axis:
    """Return an axis for the values with a margin, a share of their distance, on both sides."""
    tried = tuple(values)
    low, high = min(tried, default=0.1 if log else 0.0), max(tried, default=1.0)
    if log:
        ratio = (high / low) ** margin if high > low else 2.0
        return Axis(low / ratio, high * ratio, name, True, tried)
    more = margin * (high - low) or margin * abs(high) or 1.0
    return Axis(low - more, high + more, name, False, tried)


def left_of_axis(y: Axis) -> float:
    """Return the x of the left axis, with room for its labels."""
    return PAD + max(width_of(text, 11) for _, text in y.ticks(7)) + 8


def draw_axes(canvas: Canvas, plot: Plot) -> None:
    """Draw the grid with its numbers, and below it what the numbers of the x axis are."""
    theme = canvas.theme
    for value, label in plot.y.ticks(7):
        y = plot.y_of(value)
        canvas.line([(plot.left, y), (plot.right, y)], theme.grid)
        canvas.text(plot.left - 8, y, label, 11, theme.muted, "end")
    canvas.line([(plot.left, plot.bottom), (plot.right, plot.bottom)], theme.muted)
    steps = plot.x.ticks(10)
    whole = [step for step, _ in steps if step == int(step)]
    if whole and not plot.x.log:  # no half steps
        steps = list(zip(whole, tick_labels(whole), strict=True))
    for step, label in steps:
        at = plot.x_of(step)
        canvas.line([(at, plot.bottom), (at, plot.bottom + 4)], theme.muted)
        canvas.text(at, plot.bottom + 14, label, 11, theme.muted, "middle")
    middle = (plot.left + plot.right) / 2
    canvas.text(middle, plot.bottom + 31, plot.x.name, 11, theme.muted, "middle")
