"""A sequence cut over ranks: the ring in which keys and values travel, and the causal triangle."""

from collections.abc import Sequence
from math import cos, pi, sin

from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.style import RANKS

BOX, HIGH, TILE = 34.0, 26.0, 30.0


def attention_ring(ranks: int = 4) -> Picture:
    """Draw every step of ring attention: each rank's queries, and whose keys and values it has."""
    canvas = Canvas()
    panel, middle = (WIDE - 2 * PAD) / ranks, PAD + 112
    radius = panel / 2 - BOX - 12
    for step in range(ranks):
        x = PAD + panel * (step + 0.5)
        canvas.text(x, PAD + 6, f"step {step}", 13, anchor="middle", bold=True)
        at = [-pi / 2 + 2 * pi * rank / ranks for rank in range(ranks)]
        places = [(x + radius * cos(a), middle + radius * sin(a)) for a in at]
        if step < ranks - 1:
            for a in at:
                _arc(canvas, x, middle, radius, a + 0.62, a + 2 * pi / ranks - 0.62)
        for rank, (left, y) in enumerate(places):
            for shift, name, owner in ((0, "Q", rank), (BOX, "KV", (rank - step) % ranks)):
                color = RANKS[owner % len(RANKS)]
                corner = left - BOX + shift, y - HIGH / 2
                canvas.box(*corner, BOX - 1, HIGH, color, f"{name}{owner}", bold=True)
            canvas.text(left, y - HIGH / 2 - 9, f"rank {rank}", 11, canvas.theme.muted, "middle")
    canvas.height = middle + radius + 34
    alt = (
        f"{ranks} ranks in a ring, in {ranks} steps. Each keeps its queries. In step 0 it has its "
        "own keys and values, and in each step it hands those that it has to the next rank, so in "
        "step t rank r has those of rank r - t. After the last step nothing is sent."
    )
    return Picture(canvas, "", alt)


def _arc(canvas: Canvas, x: float, y: float, radius: float, start: float, end: float) -> None:
    angles = [start + (end - start) * n / 12 for n in range(13)]
    points = [(x + radius * cos(a), y + radius * sin(a)) for a in angles]
    canvas.line(points[:8], canvas.theme.muted, 2)
    canvas.arrow(points[7], points[-1], canvas.theme.muted, 2, 8)


def causal_triangle(layouts: dict[str, Sequence[Sequence[int]]]) -> Picture:
    """Draw which queries look at which keys, chunk by chunk, in the color of the queries' rank.

    layouts: {name: for each rank the chunks that it holds}.
    """
    canvas = Canvas()
    panel, top = (WIDE - 2 * PAD) / len(layouts), PAD + 46
    said = []
    for number, (name, held) in enumerate(layouts.items()):
        left = PAD + 54 + number * panel
        chunks = sum(map(len, held))
        owner = {chunk: rank for rank, own in enumerate(held) for chunk in own}
        canvas.text(left, PAD + 6, name, 13, bold=True)
        canvas.text(left, PAD + 26, "keys", 11, canvas.theme.muted)
        canvas.text(left - 8, top + TILE / 2, "queries", 11, canvas.theme.muted, "end")
        for row in range(chunks):
            color = RANKS[owner[row] % len(RANKS)]
            for column in range(chunks):
                x, y = left + column * TILE, top + row * TILE
                fill = color if column < row else canvas.theme.band
                canvas.rect(x, y, TILE - 1, TILE - 1, fill)
                if column == row:  # half of the block on the diagonal
                    corners = [(x, y), (x, y + TILE - 1), (x + TILE - 1, y + TILE - 1)]
                    canvas.polygon(corners, color)
        work = [sum(chunk + 0.5 for chunk in own) for own in held]
        x = left + chunks * TILE + 18
        for rank, amount in enumerate(work):
            y = top + rank * 30
            color = RANKS[rank % len(RANKS)]
            canvas.rect(x, y, amount * 6, 20, color)
            canvas.text(x + amount * 6 + 6, y + 10, f"rank {rank}: {amount:g}", 12)
        said.append(f"{name}: {', '.join(f'rank {r} has {w:g}' for r, w in enumerate(work))}.")
        canvas.height = top + chunks * TILE + PAD
    alt = (
        "Queries down, keys across; a query looks at the keys up to its own position, which makes "
        f"a triangle. Blocks of work of each rank, {' '.join(said)}"
    )
    return Picture(canvas, "", alt)
