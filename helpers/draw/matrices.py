"""Matrices cut over ranks: which part each holds, and where the ranks must communicate."""

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import RANKS, cause

UNIT = 15.0  # pixels for d/4 features; tokens are drawn as d/2


def parallel_mlp(ranks: int = 2) -> Picture:
    """Draw an MLP d -> 4d -> d on `ranks` ranks: A cut by columns, B by rows, f before, g after."""
    canvas = Canvas()
    lane = 4 * UNIT + 62
    for rank in range(ranks):
        _draw_lane(canvas, rank, ranks, PAD + 20 + rank * lane)
    top, bottom = PAD + 10, PAD + 20 + ranks * lane - 24
    for x, name, ahead, back in (
        (126, "f", "forward: nothing", "backward: all-reduce"),
        (686, "g", "forward: all-reduce", "backward: nothing"),
    ):
        canvas.box(x, top, 22, bottom - top, cause("message"), name, 15, bold=True)
        canvas.text(x + 11, bottom + 16, ahead, 11, canvas.theme.muted, "middle")
        canvas.text(x + 11, bottom + 32, back, 11, canvas.theme.muted, "middle")
    canvas.height = bottom + 50
    alt = (
        f"An MLP on {ranks} ranks. Every rank has the whole X, s by d. f stands before A: nothing "
        "forward, an all-reduce backward. Each rank multiplies by its columns of A, d by "
        f"4d/{ranks}, applies the GeLU to its own features, s by 4d/{ranks}, and multiplies by its "
        f"rows of B, 4d/{ranks} by d. Its result is one term of Y; g adds the terms up, an "
        "all-reduce forward and nothing backward, so every rank has the whole Y, s by d."
    )
    return Picture(canvas, "", alt)


def sequence_parallel_mlp(ranks: int = 2) -> Picture:
    """Draw the same MLP with sequence parallelism: outside of it each rank has some positions."""
    canvas = Canvas()
    lane, part = 4 * UNIT + 62, 16 * UNIT / ranks
    bottom = PAD + 20 + ranks * lane - 24
    for rank in range(ranks):
        middle = PAD + 20 + rank * lane + 2 * UNIT
        color, size, last = RANKS[rank % len(RANKS)], f"s/{ranks} x d", f"s x 4d/{ranks}"
        canvas.text(PAD, middle - 2 * UNIT - 8, f"rank {rank}", 12, bold=True)
        for x, wide, high, name, shape in (
            (PAD, 4 * UNIT, UNIT, "norm", size),
            (198, 4 * UNIT, 2 * UNIT, "X", "s x d"),
            (308, part, 2 * UNIT, f"H{rank}", last),
            (part + 358, 4 * UNIT, 2 * UNIT, "term", "s x d"),
            (part + 540, 4 * UNIT, UNIT, "Y + residual", size),
        ):
            _matrix(canvas, x, middle, wide, high, color, name, shape)
        for x in (PAD + 68, 164, 266, part + 316, part + 426, part + 502):
            canvas.arrow((x, middle), (x + 26, middle), canvas.theme.text, 1.5, head=7)
        for x, name in ((279, f"A{rank}"), (part + 329, f"B{rank}")):
            canvas.text(x, middle - 12, name, 12, anchor="middle")
    for x, ahead, back in (
        (126, "forward: all-gather", "backward: reduce-scatter"),
        (part + 464, "forward: reduce-scatter", "backward: all-gather"),
    ):
        canvas.box(x, PAD + 10, 22, bottom - PAD - 10, cause("message"))
        canvas.text(x + 11, bottom + 16, ahead, 11, canvas.theme.muted, "middle")
        canvas.text(x + 11, bottom + 32, back, 11, canvas.theme.muted, "middle")
    canvas.height = bottom + 50
    alt = (
        f"An MLP on {ranks} ranks with sequence parallelism. The norm before it and the residual "
        f"after it are computed for s/{ranks} positions on each rank. An all-gather, backward a "
        "reduce-scatter, gives every rank the whole X. Each multiplies by its columns of A and its "
        "rows of B. A reduce-scatter, backward an all-gather, adds up the terms and leaves each "
        "rank its positions."
    )
    return Picture(canvas, "", alt)


def _draw_lane(canvas: Canvas, rank: int, ranks: int, y: float) -> None:
    d, part, tokens = 4 * UNIT, 16 * UNIT / ranks, 2 * UNIT
    color = RANKS[rank % len(RANKS)]
    share = f"4d/{ranks}"
    middle = y + d / 2
    canvas.text(PAD, y - 8, f"rank {rank}", 12, bold=True)
    _matrix(canvas, PAD, middle, d, tokens, canvas.theme.grid, "X", "s x d")
    x = _matrix(canvas, 172, middle, part, d, color, f"A{rank}", f"d x {share}")
    canvas.text(x + 30, middle - 10, "GeLU", 12, anchor="middle")
    canvas.arrow((x + 8, middle + 4), (x + 52, middle + 4), canvas.theme.text, 1.5, head=7)
    x = _matrix(canvas, x + 62, middle, part, tokens, color, f"H{rank}", f"s x {share}")
    # B's rows are many: drawn lower than they are long, or the lanes would not fit.
    _matrix(canvas, x + 26, middle, d, d, color, f"B{rank}", f"{share} x d")
    canvas.text(x + 13, middle, "x", 13, canvas.theme.muted, "middle")
    term = _matrix(canvas, x + 26 + d + 16, middle, d, tokens, canvas.theme.faded(color), "term")
    canvas.arrow((term + 4, middle), (684, middle), canvas.theme.text, 1.5, head=7)
    _matrix(canvas, 740, middle, d, tokens, canvas.theme.grid, "Y", "s x d")
    canvas.arrow((710, middle), (736, middle), canvas.theme.text, 1.5, head=7)
    canvas.arrow((PAD + d + 6, middle), (124, middle), canvas.theme.text, 1.5, head=7)
    canvas.arrow((150, middle), (170, middle), canvas.theme.text, 1.5, head=7)


def _matrix(canvas, x, middle, wide, high, color, name, shape="") -> float:
    """Draw a matrix and return the x of its right edge."""
    canvas.box(x, middle - high / 2, wide, high, color, name, bold=True)
    canvas.text(x + wide / 2, middle + high / 2 + 10, shape, 11, canvas.theme.muted, "middle")
    return x + wide
