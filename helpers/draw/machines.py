"""Where the ranks of a grid stand: which messages stay inside a machine, and which leave it.

A machine is a row of GPUs that share one network card. Ranks that stand below each other are on
different machines, so whatever they send each other goes through the cards.
"""

from collections.abc import Mapping, Sequence

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import cause
from helpers.words import listed

BOX, HIGH, GAP, DOWN, CARD = 66.0, 34.0, 22.0, 44.0, 58.0
NAMES = {True: "activations", False: "gradients"}


def machines(
    layouts: Mapping[str, Sequence[Sequence[tuple[int, int]]]],
    title: str = "",
) -> Picture:
    """Draw layouts side by side: ``machines({"...": [[(0, 0), (0, 1)], [(1, 0), (1, 1)]]})``.

    Args:
        layouts: by name, for each machine its ranks, as (pipeline, stage). Neighbors in a machine
            and neighbors below each other share either their pipeline or their stage.
        title: what was found.
    """
    most = max(len(machine) for rows in layouts.values() for machine in rows)
    width = most * (BOX + GAP) + CARD + 34
    canvas = Canvas(max(2 * PAD + len(layouts) * width, 520.0))
    top, words = canvas.heading(title) + 12, [title] if title else []
    bottom = top
    for number, (name, rows) in enumerate(layouts.items()):
        left = PAD + number * width
        canvas.text(left, top, name, 13, bold=True)
        pipelined = rows[0][0][0] == rows[0][1][0]  # inside a machine: one pipeline?
        for m, machine in enumerate(rows):
            y = top + 24 + m * (HIGH + DOWN)
            _draw_machine(canvas, left, y, machine, pipelined)
            if m + 1 < len(rows):
                _draw_crossing(canvas, left, y, len(machine), cause(NAMES[not pipelined]))
        y = top + 24 + len(rows) * (HIGH + DOWN) - DOWN + 10
        bottom = max(bottom, y)
        crossing = NAMES[not pipelined]
        words.append(
            f"{name}: "
            + "; ".join(
                f"machine {m} holds "
                + listed(f"pipeline {pipe} stage {stage}" for pipe, stage in machine)
                for m, machine in enumerate(rows)
            )
            + f". Between machines travel {crossing}"
        )
    key = [("", cause(part), part) for part in NAMES.values()]
    canvas.height = canvas.legend(key, PAD, bottom + 20) + PAD / 2
    return Picture(canvas, title, ". ".join(words) + ".")


def _draw_machine(canvas: Canvas, left: float, y: float, machine, pipelined: bool) -> None:
    """Draw a band with the GPUs, what they send each other inside, and the one card of all."""
    wide = len(machine) * (BOX + GAP)
    canvas.rect(left, y - 8, wide + CARD, HIGH + 16, canvas.theme.band)
    for n, (pipe, stage) in enumerate(machine):
        x = left + 8 + n * (BOX + GAP)
        fill = canvas.theme.faded(cause(NAMES[pipelined]), 0.25)
        canvas.box(x, y, BOX, HIGH, fill, f"{pipe} · {stage}", 13)
        if n + 1 < len(machine):
            ends = (x + BOX + 2, y + HIGH / 2), (x + BOX + GAP - 2, y + HIGH / 2)
            canvas.arrow(*ends, cause(NAMES[pipelined]), 2.5, 7)
            canvas.arrow(*reversed(ends), cause(NAMES[pipelined]), 2.5, 7)
    x = left + wide + 4
    canvas.box(x, y, CARD - 10, HIGH, canvas.theme.grid, "card", 11)


def _draw_crossing(canvas: Canvas, left: float, y: float, gpus: int, color: str) -> None:
    """Draw what the GPUs of a machine send to the next one: all of it through the two cards."""
    card = left + gpus * (BOX + GAP) + 4 + (CARD - 10) / 2
    middle = y + HIGH + DOWN / 2
    for n in range(gpus):
        x = left + 8 + n * (BOX + GAP) + BOX / 2
        canvas.line([(x, y + HIGH + 1), (x, y + HIGH + DOWN - 1)], canvas.theme.faded(color), 1.5)
        canvas.line([(x, middle), (card - 8, middle)], canvas.theme.faded(color), 1.5)
    ends = (card, y + HIGH + 2), (card, y + HIGH + DOWN - 2)
    canvas.arrow(*ends, color, 6.0, 11)
    canvas.arrow(*reversed(ends), color, 6.0, 11)
