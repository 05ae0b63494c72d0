"""A matrix on a mesh: cut by tensor parallelism, and each part once more by data parallelism."""

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import RANKS

SIDE, GAP = 168.0, 74.0  # of a matrix, between two
STEPS = (
    ("one device", "all of the weight"),
    ("parallelize_module", "cut over mesh['tp']"),
    ("fully_shard", "its rows, over mesh['dp']"),
)
WAYS = {"column": "ColwiseParallel: Shard(0)", "row": "RowwiseParallel: Shard(1)"}


def cut_weights() -> Picture:
    """Draw where the parts of a weight lie on a mesh of 2 x 2 ranks, dp x tp.

    A weight is (outputs, inputs), as torch keeps it. Above it's cut by tensor parallelism along its
    outputs, below along its inputs; data parallelism cuts the rows of what is left.
    """
    left = PAD + 60
    canvas = Canvas(left + 3 * SIDE + 2 * GAP + PAD)
    for number, (call, words) in enumerate(STEPS):
        x = left + number * (SIDE + GAP)
        canvas.text(x, PAD + 8, call, 14, bold=True)
        canvas.text(x, PAD + 27, words, 12, canvas.theme.muted)
    y = PAD + 68
    for way, words in WAYS.items():
        canvas.text(left + SIDE + GAP, y - 14, words, 12)
        for number in range(3):
            x = left + number * (SIDE + GAP)
            for part, (at, wide, high) in _parts(way, number).items():
                _draw(canvas, part, number, x + at[0] * SIDE, y + at[1] * SIDE, wide, high)
            if number:
                canvas.arrow(
                    (x - GAP + 14, y + SIDE / 2), (x - 14, y + SIDE / 2), canvas.theme.muted, 2, 8
                )
        canvas.text(left - 10, y + SIDE / 2, "outputs", 12, canvas.theme.muted, "end")
        canvas.text(left + SIDE / 2, y + SIDE + 14, "inputs", 12, canvas.theme.muted, "middle")
        y += SIDE + 66
    canvas.height = y - 30
    return Picture(canvas, "", _alt())


def _parts(way: str, step: int) -> dict[tuple[int, int], tuple]:
    """Return the place and the size of each part, (dp, tp): -1 where it isn't cut by that yet."""
    if step == 0:
        return {(-1, -1): ((0, 0), 1, 1)}
    found = {}
    for tp in range(2):
        x, y, wide, high = (0, tp / 2, 1, 0.5) if way == "column" else (tp / 2, 0, 0.5, 1)
        if step == 1:
            found[-1, tp] = ((x, y), wide, high)
        else:
            for dp in range(2):
                found[dp, tp] = ((x, y + dp * high / 2), wide, high / 2)
    return found


def _draw(canvas: Canvas, part: tuple, step: int, x: float, y: float, wide: float, high: float):
    dp, tp = part
    color = canvas.theme.band if step == 0 else RANKS[tp] if step == 1 else RANKS[2 * dp + tp]
    words = ("", f"tp {tp}", f"rank {2 * dp + tp}")[step]
    canvas.box(x + 1, y + 1, wide * SIDE - 2, high * SIDE - 2, color, words, 13, bold=True)


def _alt() -> str:
    return (
        "A weight of outputs times inputs in three steps. Column parallel: the upper half of its "
        "rows goes to tp 0, the lower to tp 1; then each half is cut once more, so from top to "
        "bottom the quarters belong to ranks 0, 2, 1 and 3. Row parallel: the left half of its "
        "columns goes to tp 0, the right to tp 1; then the rows are cut, so the quadrants belong "
        "to ranks 0 and 1 above, 2 and 3 below."
    )
