"""The process grid as a picture: rows are pipelines, columns hold one stage."""

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import cause, ink_on

BOX, HIGH, ACROSS, DOWN = 128.0, 54.0, 92.0, 46.0  # a rank, and the room between two
ROW, COLUMN = cause("activations"), cause("gradients")  # by what travels there
LEFT = 92.0  # for the names of the rows


def process_grid(dp: int, pp: int, rank: int | None = None) -> Picture:
    """Draw dp pipelines of pp stages: what goes along a row, and what along a column.

    Args:
        dp, pp: rows and columns; rank d * pp + s is stage s of pipeline d.
        rank: its row and its column stand out; None: all do.

    Raises:
        ValueError: if the grid has no such rank.
    """
    if rank is not None and not 0 <= rank < dp * pp:
        raise ValueError(f"a grid of {dp} x {pp} has no rank {rank}: give 0 to {dp * pp - 1}")
    width = LEFT + pp * BOX + (pp - 1) * ACROSS + 2 * PAD
    canvas = Canvas(max(width, 520.0))
    row, column = (None, None) if rank is None else divmod(rank, pp)
    top = PAD + 52
    canvas.heading(_title(dp, pp, rank))
    for s in range(pp):
        canvas.text(_x(s) + BOX / 2, top - 16, f"stage {s}", 12, canvas.theme.muted, "middle")
    for d in range(dp):
        y = top + d * (HIGH + DOWN)
        canvas.text(PAD, y + HIGH / 2, f"pipeline {d}", 12, canvas.theme.muted)
        for s in range(pp):
            lit = (rank is None or d == row, rank is None or s == column)
            _box(canvas, _x(s), y, d * pp + s, lit, d * pp + s == rank)
            if s + 1 < pp:
                _both_ways(canvas, (_x(s) + BOX, y + HIGH / 2), ACROSS, False, ROW, lit[0])
            if d + 1 < dp:
                _both_ways(canvas, (_x(s) + BOX / 2, y + HIGH), DOWN, True, COLUMN, lit[1])
    y = top + dp * (HIGH + DOWN) - DOWN + 26
    for color, text in (
        (ROW, "along a row: activations"),
        (COLUMN, "down a column: gradients"),
    ):
        canvas.line([(PAD, y), (PAD + 26, y)], color, 4)
        canvas.text(PAD + 36, y, text, 12)
        y += 22
    canvas.height = y
    return Picture(canvas, _title(dp, pp, rank), _alt(dp, pp, rank))


def _x(stage: int) -> float:
    return PAD + LEFT + stage * (BOX + ACROSS)


def _box(canvas: Canvas, x: float, y: float, rank: int, lit: tuple, chosen: bool) -> None:
    """A rank: filled where it is the chosen one, framed where it shares a row or a column."""
    in_row, in_column = lit
    color = ROW if in_row else COLUMN if in_column else canvas.theme.grid
    fill = color if chosen else canvas.theme.faded(color, 0.16 if in_row or in_column else 0.3)
    canvas.rect(x, y, BOX, HIGH, color)
    canvas.rect(x + 2, y + 2, BOX - 4, HIGH - 4, fill, f"rank {rank}")
    ink = ink_on(fill) if in_row or in_column else canvas.theme.muted
    canvas.text(x + BOX / 2, y + HIGH / 2, f"rank {rank}", 14, ink, "middle", bold=chosen)


def _both_ways(canvas: Canvas, start: tuple, length: float, down: bool, color: str, lit: bool):
    """Two arrows side by side, there and back."""
    color = color if lit else canvas.theme.grid
    x, y = start
    for shift, forth in ((-5, True), (5, False)):
        a = (x + shift, y + 4) if down else (x + 4, y + shift)
        b = (x + shift, y + length - 4) if down else (x + length - 4, y + shift)
        canvas.arrow(*((a, b) if forth else (b, a)), color, 2.5 if lit else 1.5, 8)


def _title(dp: int, pp: int, rank: int | None) -> str:
    if rank is None:
        return f"{dp} x {pp}: a row is a pipeline, and a column holds the same layers"
    row = [r for r in range(rank // pp * pp, rank // pp * pp + pp) if r != rank]
    column = [r for r in range(rank % pp, dp * pp, pp) if r != rank]
    return f"Rank {rank}: {_ranks(row)} in its row, {_ranks(column)} in its column"


def _ranks(ranks: list[int]) -> str:
    return f"rank{'s' * (len(ranks) != 1)} {', '.join(map(str, ranks))}" if ranks else "nobody"


def _alt(dp: int, pp: int, rank: int | None) -> str:
    return (
        f"{_title(dp, pp, rank)}. {dp} rows of {pp} ranks. Along a row: activations. "
        "Down a column: gradients."
    )
