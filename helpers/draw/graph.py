"""A graph as rows of text with arrows between them.

A graph drawn in a circle leaves no space for words. So each node is a row that reads like a line of
a table, and the arrows run in the margin on the left, each in a lane of its own (an arc diagram).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import cause
from helpers.draw.text import shortened, width_of

ROW = 52.0  # pixels from row to row
LANE = 16.0  # pixels from one arrow to the next


@dataclass(frozen=True)
class Node:
    """A node of the graph, drawn as a row.

    name: in the box. text, place: beside it. code: a line of source below.
    """

    name: str
    text: str = ""
    place: str = ""
    code: str = ""
    faded: bool = False


@dataclass(frozen=True)
class Arrow:
    """An arrow from one row to another, by index. strong: whether the picture is about it."""

    source: int
    target: int
    strong: bool = False


def arcs(rows: Sequence[Node], arrows: Sequence[Arrow], title: str, alt: str) -> Picture:
    """Draw the rows from top to bottom, and the arrows on their left.

    Args:
        rows: the nodes, in the order in which they are drawn.
        arrows: from row to row; the strong ones are drawn on top.
        title: what was found.
        alt: the picture in words.
    """
    canvas = Canvas()
    top = canvas.heading(title)
    arrows = sorted(arrows, key=lambda a: (abs(a.source - a.target), a.source))
    lanes = _lanes(arrows)
    left = PAD + LANE * (max(lanes, default=0) + 1) + 18
    box = max((width_of(row.name, 13, bold=True) for row in rows), default=0) + 20
    for i, row in enumerate(rows):
        _draw_row(canvas, row, left, top + 8 + i * ROW, box)
    drawn = sorted(zip(arrows, lanes, strict=True), key=lambda pair: pair[0].strong)
    for arrow, lane in drawn:  # the strong ones last, on top
        _draw_arrow(canvas, arrow, left, top + 8, left - 14 - LANE * (lane + 0.5))
    canvas.height = top + 8 + len(rows) * ROW
    return Picture(canvas, title, alt)


def _lanes(arrows: Sequence[Arrow]) -> list[int]:
    """Return a lane for each arrow, so that no two that pass the same row share one."""
    taken: list[list[tuple[int, int]]] = []
    lanes = []
    for arrow in arrows:
        low, high = sorted((arrow.source, arrow.target))
        free = (n for n, spans in enumerate(taken) if all(high <= a or b <= low for a, b in spans))
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        lanes.append(lane)
    return lanes


def _draw_row(canvas: Canvas, row: Node, left: float, y: float, box: float) -> None:
    theme = canvas.theme
    ink = theme.muted if row.faded else theme.text
    canvas.rect(left, y, box, 26, theme.band if row.faded else theme.grid)
    canvas.text(left + box / 2, y + 13, row.name, 13, ink, "middle", bold=not row.faded)
    x, room = left + box + 14, canvas.width - PAD - left - box - 14
    text = f"{row.text}, {row.place}" if row.place else row.text
    canvas.text(x, y + (8 if row.code else 13), shortened(text, 13, room), 13, ink)
    if row.code:
        canvas.text(x, y + 27, shortened(row.code.strip(), 12, room), 12, theme.muted)


def _draw_arrow(canvas: Canvas, arrow: Arrow, left: float, top: float, x: float) -> None:
    """Draw it from the lower part of its row, along its lane, to the upper part of the other."""
    color = cause("fault") if arrow.strong else canvas.theme.muted
    size = 2.4 if arrow.strong else 1.2
    start, end = top + arrow.source * ROW + 19, top + arrow.target * ROW + 7
    dash = () if arrow.strong else (4, 3)
    canvas.line([(left, start), (x, start), (x, end), (left - 8, end)], color, size, dash)
    canvas.arrow((left - 9, end), (left - 1, end), color, size, head=8)
