"""Data parallelism as a picture: replicas, their own text, one mean of all gradients."""

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import cause, look

ROW, HIGH, TOP = 70.0, 36.0, 50.0
# Where each column starts, and how wide it is.
TEXT, MODEL, OWN, SUM, MEAN, STEP = (
    (62, 128),
    (222, 150),
    (404, 64),
    (504, 88),
    (624, 64),
    (722, 164),
)


def replicas(ranks: int = 3) -> Picture:
    """Draw one step of data-parallel training, a row for each rank."""
    canvas = Canvas(900, TOP + ranks * ROW + PAD)
    heads = ("its own text", "the same weights", "gradient", "", "mean", "the same step")
    columns = (TEXT, MODEL, OWN, SUM, MEAN, STEP)
    for head, (x, wide) in zip(heads, columns, strict=True):
        canvas.text(x + wide / 2, PAD + 12, head, 12, canvas.theme.muted, "middle")
    for rank in range(ranks):
        _draw_rank(canvas, rank, ranks, TOP + rank * ROW)
    x, wide = SUM
    high = ranks * ROW - ROW + HIGH + 16
    canvas.box(x, TOP - 8, wide, high, cause("message"), "all-reduce", 13, bold=True)
    title = "Equal weights and one mean gradient: after the step the weights are equal again"
    words = (
        f"Each of {ranks} ranks reads its own text with the same weights w, computes F and B, and "
        f"has its own gradient. The all-reduce gives every rank the mean g of all {ranks} "
        "gradients, and each takes the same step, from w to w minus the learning rate times g."
    )
    return Picture(canvas, title, f"{title}. {words}")


def _draw_rank(canvas: Canvas, rank: int, ranks: int, y: float) -> None:
    middle, theme = y + HIGH / 2, canvas.theme
    canvas.text(PAD, middle, f"rank {rank}", 12, theme.muted)
    stories = ", ".join(str(rank + ranks * i) for i in range(3))
    _box(canvas, TEXT, y, theme.band, f"stories {stories} …")
    _box(canvas, MODEL, y, theme.band)
    canvas.text(MODEL[0] + 16, middle, "w", 14, bold=True)
    for letter, color, x in (("F", look("F").color, 40), ("B", look("B").color, 92)):
        canvas.box(MODEL[0] + x, y + 6, 48, HIGH - 12, color, letter, 13, bold=True)
    _box(canvas, OWN, y, theme.faded(cause("gradients"), 0.35), f"g{rank}")
    _box(canvas, MEAN, y, cause("gradients"), "g")
    _box(canvas, STEP, y, theme.band, "w ← w − η g")
    for left, right in ((TEXT, MODEL), (MODEL, OWN), (OWN, SUM), (SUM, MEAN), (MEAN, STEP)):
        start = left[0] + left[1] + 5, middle
        canvas.arrow(start, (right[0] - 5, middle), theme.text, 1.6, head=8)


def _box(canvas: Canvas, column: tuple[int, int], y: float, fill: str, text: str = "") -> None:
    x, wide = column
    canvas.box(x, y, wide, HIGH, fill, text, 13)
