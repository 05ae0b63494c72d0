"""Ranks in time, one row each, where a send and its receive can only begin together."""

from collections.abc import Mapping, Sequence

from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.style import cause, ink_on
from helpers.draw.text import width_of

HIGH, GAP, LEFT = 30.0, 12.0, 76.0  # pixels: a row, between two rows, the names
Program = Sequence[tuple[str, int]]  # ("send" or "recv", with which rank), in the rank's order
Span = tuple[int, str, int, float, float, float | None]  # rank, kind, peer, called, begun, ended


def meetings(programs: Mapping[str, Sequence[Program]], title: str) -> Picture:
    """Draw what ranks do, time to the right: each message takes as long, and waiting is hatched.

    programs: by name, the messages of each rank in its order. One below the other, on one scale.
    """
    played = {name: play(ranks) for name, ranks in programs.items()}
    lasts = [span[5] for spans in played.values() for span in spans if span[5] is not None]
    unit = (WIDE - LEFT - PAD) / max(lasts, default=1.0)
    canvas = Canvas()
    y = canvas.heading(title) + 6
    for name, spans in played.items():
        canvas.text(PAD, y + 8, name, 12, canvas.theme.muted)
        y = _draw(canvas, spans, len(programs[name]), y + 22, unit) + 6
    canvas.arrow((LEFT, y), (WIDE - PAD, y), canvas.theme.muted, 1.2, 7)
    canvas.text((LEFT + WIDE) / 2, y + 13, "time", 11, canvas.theme.muted, "middle")
    canvas.legend([("", "", "waiting: the other side isn't there yet")], PAD, y + 24)
    canvas.height = y + 24 + 14 + PAD
    spoken = ". ".join(
        f"{name}: {'; '.join(map(_in_words, each))}" for name, each in played.items()
    )
    return Picture(canvas, title, f"{title}. {spoken}.")


def play(ranks: Sequence[Program]) -> list[Span]:
    """Return what becomes of each message that a rank gets to, a unit of time each.

    A message that never begins has no end; what a rank doesn't get to isn't there.
    """
    left, free, spans = [list(program) for program in ranks], [0.0] * len(ranks), []
    while True:
        pairs = [
            (max(free[rank], free[peer]), rank, peer)
            for rank, program in enumerate(left)
            if program and program[0][0] == "send"
            for peer in [program[0][1]]
            if left[peer][:1] == [("recv", rank)]
        ]
        if not pairs:
            break
        begun, sender, receiver = min(pairs)
        for one, other in ((sender, receiver), (receiver, sender)):
            kind, _ = left[one].pop(0)
            spans.append((one, kind, other, free[one], begun, begun + 1))
            free[one] = begun + 1
    for rank, program in enumerate(left):
        if program:
            spans.append((rank, *program[0], free[rank], free[rank], None))
    return spans


def _draw(canvas: Canvas, spans: list[Span], ranks: int, top: float, unit: float) -> float:
    rows = [top + rank * (HIGH + GAP) for rank in range(ranks)]
    color = cause("message")
    for rank, y in enumerate(rows):
        canvas.text(PAD, y + HIGH / 2, f"rank {rank}", 12)
        canvas.rect(LEFT, y, WIDE - LEFT - PAD, HIGH, canvas.theme.band)
    for rank, kind, peer, called, begun, ended in spans:
        x, y, label = LEFT + called * unit, rows[rank], _label(kind, peer)
        until = LEFT + begun * unit if ended is not None else WIDE - PAD
        if until > x:
            canvas.rect(x, y, until - x, HIGH, canvas.theme.band, hatch=canvas.theme.wait)
            canvas.rect(x, y, width_of(label, 12) + 18, HIGH, canvas.theme.band)
            canvas.text(x + 10, y + HIGH / 2, label, 12)
        if ended is not None:
            canvas.rect(until + 1, y, (ended - begun) * unit - 2, HIGH, color)
            canvas.text(until + 10, y + HIGH / 2, label, 12, ink_on(color), bold=True)
    for rank, kind, peer, _, begun, ended in spans:
        if kind == "send" and ended is not None:
            down = rows[peer] > rows[rank]
            start = LEFT + begun * unit + 14, rows[rank] + (HIGH if down else 0)
            end = LEFT + ended * unit - 14, rows[peer] + (0 if down else HIGH)
            canvas.arrow(start, end, canvas.theme.text, 1.6, 8)
    return rows[-1] + HIGH + GAP


def _label(kind: str, peer: int) -> str:
    return f"send to {peer}" if kind == "send" else f"recv from {peer}"


def _in_words(span: Span) -> str:
    rank, kind, peer, called, begun, ended = span
    if ended is None:
        return f"rank {rank} calls {_label(kind, peer)} and waits forever"
    waits = f" after waiting from {called:g}" if begun > called else ""
    return f"rank {rank}, {_label(kind, peer)} from time {begun:g} to {ended:g}{waits}"
