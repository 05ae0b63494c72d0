"""Ways to all-reduce: star, tree and ring side by side; the ring, one step after the other.

In the ring, rank r begins with the number 10 ** r in each part, so a sum tells which ranks are in
it: 110 comes from ranks 1 and 2.
"""

import math
from dataclasses import dataclass

from helpers.draw.picture import PAD, Canvas, Picture, Point
from helpers.draw.style import RANKS, Theme, cause
from helpers.draw.text import width_of

MOST = 4  # ranks whose boxes find room on the ring
NODE = 13.0  # radius of a rank in `ways`
CELL, GAP = 26.0, 3.0


@dataclass(frozen=True)
class Step:
    """What the ranks hold after one step.

    name: of the step. held: `held[rank][part]`. sent: the part that each rank has sent to its right
    neighbor, or None at the start.
    """

    name: str
    held: tuple[tuple[int, ...], ...]
    sent: tuple[int, ...] | None

    def arrived(self, rank: int) -> int | None:
        """Return the part that this rank has just received."""
        return None if self.sent is None else self.sent[rank - 1]


def ring_steps(ranks: int) -> list[Step]:
    """Return the start and the 2 (ranks - 1) steps of a ring all-reduce.

    Raises:
        ValueError: if there are fewer than two ranks.
    """
    if ranks < 2:
        raise ValueError(f"a ring needs 2 ranks or more, not {ranks}")
    held = [[10**rank] * ranks for rank in range(ranks)]
    steps = [Step("start", tuple(map(tuple, held)), None)]
    for phase, first in (("reduce-scatter", 0), ("all-gather", 1)):
        for number in range(ranks - 1):
            sent = tuple((rank + first - number) % ranks for rank in range(ranks))
            moving = [held[rank][part] for rank, part in enumerate(sent)]
            for rank, part in enumerate(sent):
                here = held[(rank + 1) % ranks]
                here[part] = moving[rank] + (here[part] if phase == "reduce-scatter" else 0)
            steps.append(Step(f"{phase}, step {number}", tuple(map(tuple, held)), sent))
    return steps


def ring(ranks: int = 4, step: int = 0, theme: str = "light") -> Picture:
    """Draw the ring after a step (0: the start); an arrow is a message of that step.

    Raises:
        ValueError: if there is no such step, or if so many ranks don't fit.
    """
    if ranks > MOST:
        raise ValueError(f"a ring of {ranks} ranks doesn't fit: draw at most {MOST}")
    steps = ring_steps(ranks)
    if not 0 <= step < len(steps):
        raise ValueError(f"there is no step {step}: choose from 0 to {len(steps) - 1}")
    now, canvas = steps[step], Canvas(height=330, theme=theme)
    title = f"A ring of {ranks} ranks: {now.name}"
    canvas.heading(now.name)
    _key(canvas, now)
    middle = canvas.width / 2, 188.0
    for rank in range(ranks):
        _arc(canvas, middle, rank, ranks, now)
    for rank in range(ranks):
        x, y = _on_ring(middle, rank / ranks)
        wide = ranks * _cell(ranks)
        canvas.text(x, y - 27, f"rank {rank}", 12, canvas.theme.muted, "middle")
        for part, value in enumerate(now.held[rank]):
            at = x - wide / 2 + part * _cell(ranks), y - CELL / 2
            _draw_part(canvas, at, value, ranks, now.arrived(rank) == part)
    return Picture(canvas, title, f"{title}. {_in_words(now)}")


def ring_table(ranks: int = 3) -> Picture:
    """Draw all steps of a ring all-reduce below each other: a row for each, a column for a rank."""
    steps, wide = ring_steps(ranks), ranks * _cell(ranks)
    canvas = Canvas(200 + ranks * (wide + 30))
    for rank in range(ranks):
        canvas.text(190 + rank * (wide + 30), PAD + 8, f"rank {rank}", 13, bold=True)
    for row, now in enumerate(steps):
        y = PAD + 30 + row * (CELL + 14)
        canvas.text(PAD, y + CELL / 2, now.name, 13)
        for rank, parts in enumerate(now.held):
            for part, value in enumerate(parts):
                at = 190 + rank * (wide + 30) + part * _cell(ranks), y
                _draw_part(canvas, at, value, ranks, now.arrived(rank) == part)
    canvas.height = PAD + 30 + len(steps) * (CELL + 14)
    title = "In each step every rank receives one part; after the last one all parts are finished"
    return Picture(canvas, title, f"{title}. {' '.join(_in_words(now) for now in steps)}")


def _cell(ranks: int) -> float:
    """Return the width of a part that may hold a sum of all ranks."""
    return width_of("1" * ranks, 13, bold=True) + 12 + GAP


def _on_ring(middle: Point, share: float) -> Point:
    """Return a point of the ring; share: of the way round, clockwise from the top."""
    turn = 2 * math.pi * share
    return middle[0] + 290 * math.sin(turn), middle[1] - 100 * math.cos(turn)


def _arc(canvas: Canvas, middle: Point, rank: int, ranks: int, now: Step) -> None:
    """Draw the way from a rank to its right neighbor, and on it the part that it sends."""
    moves = now.sent is not None
    color = canvas.theme.text if moves else canvas.theme.grid
    # As far along as both boxes leave room: an arrow between them, not through them.
    wide = ranks * _cell(ranks) / 2 + 12
    points = [_on_ring(middle, (rank + i / 60) / ranks) for i in range(61)]
    ends = points[0], points[-1]
    free = [(x, y) for x, y in points if all(abs(x - a) > wide or abs(y - b) > 40 for a, b in ends)]
    if len(free) < 3:
        return
    canvas.line(free[:-1], color, 2.0)
    canvas.arrow(free[-3], free[-1], color, 2.0, head=10)
    if moves:
        x, y = free[len(free) // 2]
        text = f"part {now.sent[rank]}"
        half = width_of(text, 12) / 2 + 5
        canvas.rect(x - half, y - 10, 2 * half, 20, canvas.theme.background)
        canvas.text(x, y, text, 12, anchor="middle")


def _draw_part(canvas: Canvas, at: Point, value: int, ranks: int, framed: bool) -> None:
    (x, y), wide = at, _cell(ranks) - GAP
    if framed:
        canvas.rect(x - 3, y - 3, wide + 6, CELL + 6, canvas.theme.text)
    color = _color(canvas.theme, value, ranks)
    canvas.box(x, y, wide, CELL, color, str(value), 13, bold=str(value).count("1") == ranks)


def _color(theme: Theme, value: int, ranks: int) -> str:
    """Return the color of a part: gray with one rank in it, then paler or full."""
    count = str(value).count("1")
    if count == ranks:
        return cause("sum")
    if count == 1:
        return theme.band
    return theme.faded(cause("partial sum"), 0.4 + 0.6 * count / ranks)


def _key(canvas: Canvas, now: Step) -> None:
    finished = sum(str(v).count("1") == len(now.held) for v in now.held[0])
    words = f"rank 0 holds {finished} of {len(now.held)} finished parts"
    canvas.text(canvas.width - PAD, PAD + 8, words, 12, canvas.theme.muted, "end")


def _in_words(now: Step) -> str:
    held = "; ".join(
        f"rank {rank} holds {' '.join(map(str, parts))}" for rank, parts in enumerate(now.held)
    )
    return f"{now.name}: {held}."


def ways(ranks: int = 8) -> Picture:
    """Draw who sends to whom in three ways to all-reduce: an arrow is a message of the first half.

    In the second half the sum travels back, or on round the ring.
    """
    canvas = Canvas(height=262)
    star = [(0.0, 0.0), *_around(ranks - 1)]
    tree = [_in_tree(rank, ranks) for rank in range(ranks)]
    around = [(rank, (rank + 1) % ranks) for rank in range(ranks)]
    panels = (
        (
            "star",
            "all send to rank 0, one after the other",
            star,
            [(r, 0) for r in range(1, ranks)],
        ),
        ("tree", "in each step half of the rest send", tree, _tree_arrows(ranks)),
        ("ring", "all send at once, a part each", _around(ranks), around),
    )
    for number, (name, says, places, arrows) in enumerate(panels):
        x, y = 150.0 + 300 * number, 156.0
        canvas.text(x - 128, PAD + 8, name, 15, bold=True)
        canvas.text(x - 128, PAD + 28, says, 12, canvas.theme.muted)
        spots = [(x + dx, y + dy) for dx, dy in places]
        for a, b in arrows:
            _between(canvas, spots[a], spots[b])
        for rank, spot in enumerate(spots):
            canvas.disc(spot, NODE, canvas.theme.faded(RANKS[0], 0.3))
            canvas.text(*spot, str(rank), 12, anchor="middle", bold=True)
    words = " ".join(
        f"{name}: {says}: {', '.join(f'{a} to {b}' for a, b in arrows)}."
        for name, says, _, arrows in panels
    )
    return Picture(canvas, f"Three ways to all-reduce over {ranks} ranks", words)


def _around(count: int) -> list[Point]:
    turns = [2 * math.pi * i / count for i in range(count)]
    return [(78 * math.sin(turn), -78 * math.cos(turn)) for turn in turns]


def _tree_arrows(ranks: int) -> list[tuple[int, int]]:
    """Return who sends to whom: rank 1 to 0, 3 to 2 ..., then 2 to 0, 6 to 4 ..., and so on."""
    arrows, gap = [], 1
    while gap < ranks:
        arrows += [(rank, rank - gap) for rank in range(gap, ranks, 2 * gap)]
        gap *= 2
    return arrows


def _in_tree(rank: int, ranks: int) -> Point:
    """Return the place of a rank: the later it sends, the higher it stands."""
    levels = (ranks - 1).bit_length()
    level = levels if rank == 0 else (rank & -rank).bit_length() - 1
    wide = 250.0 / max(1, ranks - 1)
    return (rank - (ranks - 1) / 2) * wide, 78 - 156 * level / max(1, levels)


def _between(canvas: Canvas, start: Point, end: Point) -> None:
    """Draw an arrow from the rim of one rank to the rim of another."""
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0)
    dx, dy = (NODE + 2) * (x1 - x0) / length, (NODE + 2) * (y1 - y0) / length
    canvas.arrow((x0 + dx, y0 + dy), (x1 - dx, y1 - dy), canvas.theme.text, 1.6, head=8)
