"""The collectives as a picture: what each rank holds before, and what it holds after."""

from collections.abc import Sequence
from dataclasses import dataclass

from helpers.draw.picture import Canvas, Picture
from helpers.draw.plot import PAD
from helpers.draw.style import BLUE, GREEN, ORANGE, PURPLE, ink_on
from helpers.draw.style import theme as theme_called

Buffer = Sequence[
    str
]  # of one rank: "a0" is part 0 of what rank 0 brought; "Σ0" is a sum over ranks

COLOURS = {"a": BLUE, "b": ORANGE, "c": GREEN, "Σ": PURPLE}
CELL, ROW = 34.0, 30.0


@dataclass(frozen=True)
class Collective:
    """A collective of three ranks.

    name: as the field calls it. says: what it does. before, after: what each rank holds.
    """

    name: str
    says: str
    before: Sequence[Buffer]
    after: Sequence[Buffer]


NONE = ("", "", "")
PARTS = (("a0", "a1", "a2"), ("b0", "b1", "b2"), ("c0", "c1", "c2"))
SUMS = ("Σ0", "Σ1", "Σ2")
COLLECTIVES = (
    Collective(
        "broadcast", "one rank gives all it has to all", (PARTS[0], NONE, NONE), (PARTS[0],) * 3
    ),
    Collective("reduce", "one rank gets the sum", PARTS, (SUMS, NONE, NONE)),
    Collective(
        "scatter",
        "one rank gives each a part",
        (PARTS[0], NONE, NONE),
        (("a0", "", ""), ("a1", "", ""), ("a2", "", "")),
    ),
    Collective(
        "gather",
        "one rank gets a part of each",
        (("a0", "", ""), ("b0", "", ""), ("c0", "", "")),
        (("a0", "b0", "c0"), NONE, NONE),
    ),
    Collective(
        "reduce-scatter",
        "each rank gets a part of the sum",
        PARTS,
        (("Σ0", "", ""), ("Σ1", "", ""), ("Σ2", "", "")),
    ),
    Collective(
        "all-gather",
        "every rank gets a part of each",
        (("a0", "", ""), ("b0", "", ""), ("c0", "", "")),
        (("a0", "b0", "c0"),) * 3,
    ),
    Collective("all-reduce", "every rank gets the sum", PARTS, (SUMS,) * 3),
    Collective(
        "all-to-all",
        "each rank gives each a part",
        PARTS,
        (("a0", "b0", "c0"), ("a1", "b1", "c1"), ("a2", "b2", "c2")),
    ),
)


def collectives(
    which: Sequence[Collective] = COLLECTIVES, theme: str = "light", width: int = 900
) -> Picture:
    """Draw collectives of three ranks, two in a row: before on the left, after on the right."""
    canvas = Canvas(width, 0, theme_called(theme))
    title = "What each of three ranks holds before a collective, and after"
    canvas.text(PAD, PAD + 8, title, 15, bold=True)
    top, high = PAD + 34, 3 * ROW + 52
    for i, each in enumerate(which):
        _draw(canvas, each, PAD + (i % 2) * (width - PAD) / 2, top + (i // 2) * high)
    canvas.height = top + -(-len(which) // 2) * high
    return Picture(canvas, title, " ".join(_in_words(each) for each in which))


def _draw(canvas: Canvas, each: Collective, x: float, y: float) -> None:
    canvas.text(x, y + 6, each.name, 13, bold=True)
    canvas.text(x + 118, y + 6, each.says, 12, canvas.theme.muted)
    for rank in range(3):
        middle = y + 24 + rank * ROW + (ROW - 4) / 2
        canvas.text(x, middle, f"rank {rank}", 12, canvas.theme.muted)
        _draw_held(canvas, each.before[rank], x + 52, y + 24 + rank * ROW)
        _draw_held(canvas, each.after[rank], x + 52 + 3 * CELL + 56, y + 24 + rank * ROW)
    arrow = x + 52 + 3 * CELL + 10
    middle = y + 24 + 1.5 * ROW - 2
    canvas.arrow((arrow, middle), (arrow + 36, middle), canvas.theme.text, 2.0, head=9)


def _draw_held(canvas: Canvas, held: Buffer, x: float, y: float) -> None:
    for i, what in enumerate(held):
        left = x + i * CELL
        if not what:
            canvas.rect(left, y, CELL - 3, ROW - 4, canvas.theme.band)
            continue
        colour = COLOURS[what[0]]
        canvas.rect(left, y, CELL - 3, ROW - 4, colour)
        middle = left + (CELL - 3) / 2, y + (ROW - 4) / 2
        canvas.text(*middle, what, 12, ink_on(colour), "middle", bold=True)


def _in_words(each: Collective) -> str:
    def told(side: Sequence[Buffer]) -> str:
        rows = [" ".join(part for part in held if part) or "nothing" for held in side]
        return "; ".join(f"rank {rank} {row}" for rank, row in enumerate(rows))

    return f"{each.name}: {each.says}. Before: {told(each.before)}. After: {told(each.after)}."
