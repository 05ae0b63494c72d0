"""A chain of stations, each with what can be compared there: where to look for a mistake."""

from collections.abc import Sequence

from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.style import CAUSES, cause
from helpers.draw.text import wrapped

# What isn't a cause by its own name.
STATIONS = {"data": cause("input"), "messages": cause("message"), "replicas": cause("weights")}
HIGH, GAP, LINE = 44.0, 22.0, 17.0


def chain(stations: Sequence[tuple[str, str, str]], title: str = "") -> Picture:
    """Draw stations from left to right: (name, what to compare there, with which call)."""
    canvas = Canvas()
    top = canvas.heading(title) + (12 if title else 0)
    wide = (WIDE - 2 * PAD - (len(stations) - 1) * GAP) / len(stations)
    lowest = top
    for number, (name, what, call) in enumerate(stations):
        x, color = PAD + number * (wide + GAP), (CAUSES | STATIONS).get(name, cause("model"))
        canvas.box(x, top, wide, HIGH, color, name, 14, bold=True, tip=what)
        if number:
            middle = top + HIGH / 2
            canvas.arrow((x - GAP + 2, middle), (x - 2, middle), canvas.theme.text, 1.6)
        y = top + HIGH + 20
        for line in wrapped(what, 12, wide):
            canvas.text(x, y, line, 12)
            y += LINE
        canvas.text(x, y + 2, call, 12, bold=True)
        lowest = max(lowest, y + 2)
    canvas.height = lowest + PAD
    said = "; ".join(f"{name}: {what} ({call})" for name, what, call in stations)
    return Picture(canvas, title, f"A chain of stations from left to right. {said}.")
