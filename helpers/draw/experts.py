"""A mixture of experts: which token goes where, and who sends how much to whom."""

from collections.abc import Mapping, Sequence

from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.style import RANKS, cause, ink_on

WORDS = ("Once", "a", "fox", "found", "a", "red", "ball")
CHOICES = ((0, 1), (1, 3), (2, 0), (0, 3), (1, 0), (2, 0), (2, 3))
CELL, ROW = 30.0, 24.0


def routing(places: int = 4) -> Picture:
    """Draw seven tokens that choose two of four experts, as a matrix and as rows for the experts.

    places: how many rows an expert takes; what comes later is dropped.
    """
    canvas = Canvas()
    muted, experts = canvas.theme.muted, 4
    left, top = PAD + 70, PAD + 46
    canvas.text(left, PAD + 6, "the router's choice", 13, bold=True)
    right = left + experts * CELL + 120
    canvas.text(right, PAD + 6, "the same rows, sorted by expert", 13, bold=True)
    for e in range(experts):
        canvas.text(left + (e + 0.5) * CELL, top - 14, f"E{e}", 12, anchor="middle", bold=True)
    queues: list[list[int]] = [[] for _ in range(experts)]
    for token, word in enumerate(WORDS):
        y = top + token * CELL
        canvas.text(left - 10, y + CELL / 2, word, 12, anchor="end")
        for e in range(experts):
            chosen = e in CHOICES[token]
            text = ("1st" if e == CHOICES[token][0] else "2nd") if chosen else ""
            color = RANKS[e] if chosen else canvas.theme.band
            canvas.box(left + e * CELL, y, CELL - 2, CELL - 2, color, text, 10)
    for slot in range(2):
        for token, chosen in enumerate(CHOICES):
            queues[chosen[slot]].append(token)
    middle = top + len(WORDS) * CELL / 2
    canvas.arrow((left + experts * CELL + 20, middle), (right - 30, middle), muted, 1.5, 8)
    canvas.text(left + experts * CELL + 50, middle - 14, "dispatch", 12, muted, "middle")
    wide, dropped = 82.0, 0
    for e, queue in enumerate(queues):
        x = right + e * (wide + 14) + (18 if e > 1 else 0)
        canvas.text(x + wide / 2, top - 14, f"E{e}", 12, anchor="middle", bold=True)
        for place, token in enumerate(queue):
            full = place >= places
            color = canvas.theme.band if full else RANKS[e]
            y = top + place * ROW
            canvas.rect(x, y, wide, ROW - 3, color, hatch=canvas.theme.wait if full else "")
            ink = canvas.theme.text if full else ink_on(color)
            canvas.text(x + wide / 2, y + ROW / 2 - 1, WORDS[token], 12, ink, "middle")
            dropped += full
        for place in range(len(queue), places):
            canvas.rect(x, top + place * ROW, wide, ROW - 3, canvas.theme.band)
    end = right + experts * (wide + 14) + 18
    line = top + places * ROW - 1.5
    canvas.line([(right - 8, line), (end - 6, line)], canvas.theme.text, 1.5, (5, 4))
    canvas.text(end, line, "capacity", 12, muted)
    bottom = top + max(len(queue) for queue in queues) * ROW + 18
    for rank in range(2):
        x = right + rank * (2 * (wide + 14) + 18)
        canvas.line([(x, bottom), (x + 2 * wide + 14, bottom)], muted, 2)
        canvas.text(x + wide + 7, bottom + 14, f"on rank {rank}", 12, muted, "middle")
    canvas.height = max(top + len(WORDS) * CELL, bottom + 28) + PAD
    alt = (
        f"{len(WORDS)} tokens and {experts} experts. Left, a matrix with a colored cell where a "
        "token has chosen an expert: two in each row. Right, the same choices as rows, sorted by "
        f"expert: {', '.join(f'E{e} gets {len(q)}' for e, q in enumerate(queues))}. An expert "
        f"takes {places}, and what lies beyond, {dropped}, is hatched: it is dropped. Experts 0 "
        "and 1 are on rank 0, experts 2 and 3 on rank 1."
    )
    return Picture(canvas, "", alt)


def heat(
    panels: Mapping[str, Sequence[Sequence[int]]],
    rows: str = "from rank",
    columns: str = "to rank",
) -> Picture:
    """Draw tables of counts side by side, shaded on one scale; the number stands in each cell.

    panels: {name: rows of counts}. rows, columns: the words before the number of each.
    """
    canvas = Canvas()
    top = PAD + 4
    most = max(max(row) for table in panels.values() for row in table) or 1
    room = (WIDE - 2 * PAD) / len(panels)
    sizes = max(len(table[0]) for table in panels.values())
    cell = min(58.0, (room - 110) / sizes)
    spoken = []
    for number, (name, table) in enumerate(panels.items()):
        left = PAD + number * room + 74
        canvas.text(left, top + 8, name, 13, bold=True)
        middle = left + len(table[0]) * cell / 2
        canvas.text(middle, top + 28, columns, 11, canvas.theme.muted, "middle")
        for c in range(len(table[0])):
            canvas.text(left + (c + 0.5) * cell, top + 44, str(c), 12, anchor="middle")
        for r, row in enumerate(table):
            y = top + 54 + r * 34
            canvas.text(left - 8, y + 16, f"{rows} {r}", 12, anchor="end")
            for c, count in enumerate(row):
                color = canvas.theme.faded(cause("count"), 0.06 + 0.94 * count / most)
                canvas.box(left + c * cell, y, cell - 2, 32, color, f"{count}")
        spoken.append(f"{name}: " + "; ".join(", ".join(map(str, row)) for row in table))
    canvas.height = top + 60 + 34 * max(map(len, panels.values())) + PAD
    words = f"Counts, a row for each {rows.split()[-1]}. {'. '.join(spoken)}."
    return Picture(canvas, "", words)
