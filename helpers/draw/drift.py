"""Local steps in the plane of two weights: three ranks drift apart, and then they meet again."""

import math

from helpers.draw.picture import PAD, WIDE, Canvas, Picture, Point
from helpers.draw.style import RANKS, cause

HEADINGS = ((82, 58, 70, 48), (54, 62, 30, 46), (2, 18, -10, 8))  # degrees, a step each
STRIDE, HIGH = 64.0, 236.0


def drift() -> Picture:
    """Draw H local steps of three ranks twice: then averaged, and then with an outer step."""
    canvas = Canvas()
    title = "Each rank takes H steps alone, and then they meet"
    canvas.heading(title)
    top, half = PAD + 40, WIDE / 2
    canvas.text(PAD, top, "Local SGD: at the mean", 13, bold=True)
    canvas.text(half + PAD, top, "DiLoCo: beyond it, with momentum", 13, bold=True)
    for left, outer in ((PAD, False), (half + PAD, True)):
        _draw_round(canvas, (left + 24, top + HIGH - 10), outer)
    canvas.height = top + HIGH + 22
    alt = (
        f"{title}. Left: from one common point, three paths of four steps lead to three places, "
        "and the next round starts at their mean. Right: the arrow from the common point to the "
        "mean is the outer gradient, with its sign turned; Nesterov's momentum carries the next "
        "start beyond the mean."
    )
    return Picture(canvas, title, alt)


def _draw_round(canvas: Canvas, start: Point, outer: bool) -> None:
    ends = []
    for rank, (headings, color) in enumerate(zip(HEADINGS, RANKS, strict=False)):
        at = start
        for heading in headings:
            angle = math.radians(heading)
            to = at[0] + STRIDE * math.cos(angle), at[1] - 0.8 * STRIDE * math.sin(angle)
            canvas.arrow(at, to, color, 2.0, head=8)
            at = to
        ends.append(at)
        canvas.text(at[0] + 8, at[1], f"rank {rank}", 12, color, bold=True)
    mean = sum(x for x, _ in ends) / 3, sum(y for _, y in ends) / 3
    for end in ends:
        canvas.line([end, mean], canvas.theme.muted, 1.0, (3, 3))
    ink = canvas.theme.text
    if outer:
        beyond = tuple(s + 1.42 * (m - s) for s, m in zip(start, mean, strict=True))
        canvas.arrow(start, beyond, cause("update"), 2.6, head=11)
        canvas.text(beyond[0] - 4, beyond[1] - 13, "next start", 12, ink, bold=True)
        canvas.disc(beyond, 5, cause("update"))
    canvas.disc(mean, 5, ink)
    canvas.text(mean[0] + 10, mean[1] + 12, "mean", 12, ink, bold=True)
    canvas.disc(start, 5, ink)
    canvas.text(start[0] - 8, start[1] + 20, "common start", 12, ink, bold=True)
