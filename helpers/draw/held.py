"""The collectives as a picture: what each rank holds before, and what it holds after."""

from collections.abc import Sequence
from dataclasses import dataclass

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import RANKS, cause

Buffer = Sequence[
    str
]  # of one rank: "a0" is part 0 of what rank 0 brought; "Σ0" is a sum over ranks

COLORS = {**dict(zip("abc", RANKS, strict=False)), "Σ": cause("sum")}
CELL, ROW = 32.0, 28.0
LABEL, GAP, HEAD = 46.0, 38.0, 44.0  # before the cells, for the arrow, for name and words
BLOCK, APART = LABEL + 6 * CELL + GAP, 20.0


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
OWN = (("a", "", ""), ("", "b", ""), ("", "", "c"))
SUMS = ("Σ0", "Σ1", "Σ2")
# Each part stands in its place in the whole tensor, so that all-gather after reduce-scatter is seen
# to be an all-reduce.
COLLECTIVES = (
    Collective("broadcast", "one rank's tensor, for all", (PARTS[0], NONE, NONE), (PARTS[0],) * 3),
    Collective(
        "scatter",
        "one rank's tensor, a part for each",
        (PARTS[0], NONE, NONE),
        (("a0", "", ""), ("", "a1", ""), ("", "", "a2")),
    ),
    Collective("gather", "all parts, for one rank", OWN, (("a", "b", "c"), NONE, NONE)),
    Collective("reduce", "the sum, for one rank", PARTS, (SUMS, NONE, NONE)),
    Collective(
        "reduce-scatter",
        "the sum, a part for each",
        PARTS,
        (("Σ0", "", ""), ("", "Σ1", ""), ("", "", "Σ2")),
    ),
    Collective("all-gather", "all parts, for all", OWN, (("a", "b", "c"),) * 3),
    Collective("all-reduce", "the sum, for all", PARTS, (SUMS,) * 3),
    Collective(
        "all-to-all",
        "from each a part for each",
        PARTS,
        (("a0", "b0", "c0"), ("a1", "b1", "c1"), ("a2", "b2", "c2")),
    ),
)


def collectives(which: Sequence[Collective | str] = COLLECTIVES) -> Picture:
    """Draw collectives of three ranks as matrices: before on the left, after on the right.

    which: collectives, or their names, such as "all-reduce".

    Raises:
        ValueError: if there is no collective of a name.
    """
    drawn = [_named(each) if isinstance(each, str) else each for each in which]
    across = 2 if len(drawn) in (2, 4) else 3
    canvas = Canvas(2 * PAD + across * (BLOCK + APART) - APART)
    title = "What each of three ranks holds before, and after"
    for i, each in enumerate(drawn):
        x = PAD + (i % across) * (BLOCK + APART)
        _draw(canvas, each, x, PAD + i // across * (HEAD + 3 * ROW + 26))
    canvas.height = PAD + -(-len(drawn) // across) * (HEAD + 3 * ROW + 26) - 10
    return Picture(canvas, title, " ".join(_in_words(each) for each in drawn))


def _named(name: str) -> Collective:
    found = {each.name: each for each in COLLECTIVES}
    if name not in found:
        raise ValueError(f"no collective {name!r}: choose from {', '.join(found)}")
    return found[name]


def _draw(canvas: Canvas, each: Collective, x: float, y: float) -> None:
    canvas.text(x, y + 6, each.name, 13, bold=True)
    canvas.text(x, y + 25, each.says, 12, canvas.theme.muted)
    top = y + HEAD
    for rank in range(3):
        canvas.text(x, top + (rank + 0.5) * ROW - 2, f"rank {rank}", 12, canvas.theme.muted)
        _draw_held(canvas, each.before[rank], x + LABEL, top + rank * ROW)
        _draw_held(canvas, each.after[rank], x + LABEL + 3 * CELL + GAP, top + rank * ROW)
    start, middle = x + LABEL + 3 * CELL + 4, top + 1.5 * ROW - 2
    canvas.arrow((start, middle), (start + GAP - 11, middle), canvas.theme.text, 2.0, head=9)


def _draw_held(canvas: Canvas, held: Buffer, x: float, y: float) -> None:
    for i, what in enumerate(held):
        left = x + i * CELL
        color = COLORS[what[0]] if what else canvas.theme.band
        canvas.box(left, y, CELL - 3, ROW - 4, color, what, bold=True)


def _in_words(each: Collective) -> str:
    def spoken(side: Sequence[Buffer]) -> str:
        rows = [" ".join(part for part in held if part) or "nothing" for held in side]
        return "; ".join(f"rank {rank} {row}" for rank, row in enumerate(rows))

    return f"{each.name}: {each.says}. Before: {spoken(each.before)}. After: {spoken(each.after)}."
