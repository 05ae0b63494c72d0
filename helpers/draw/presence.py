"""Learners and time: who computes, delivers, heals, is frozen or gone."""

from itertools import groupby

from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.style import cause

STATES = {"#": "computing", "+": "computing, and delivering", "h": "healing", "z": "frozen"}
CAUSES = {"#": "computing", "+": "syncing", "h": "healing", "z": "frozen", ".": "gone"}
COLORS = {letter: cause(name) for letter, name in CAUSES.items()}
HIGH, LEFT = 22, 84


def presence(rows: list[str], seconds: float, title: str) -> Picture:
    """Draw a row for each learner and a column for each moment; where nobody is, nothing is drawn.

    rows: for each learner a letter a moment: # computing, + and delivering, h healing, z frozen,
        . gone. seconds: how long it all took.
    """
    canvas = Canvas()
    top = canvas.heading(title) + 6
    wide = (WIDE - LEFT - PAD) / len(rows[0])
    for number, row in enumerate(rows):
        y = top + number * HIGH
        canvas.text(PAD, y + HIGH / 2 + 4, f"learner {number}", 12)
        at = LEFT
        for letter, same in groupby(row):
            width = wide * len(list(same))
            if letter == ".":
                canvas.rect(at, y + 8, width, 3, COLORS[letter])
            else:
                hatch = canvas.theme.wait if letter == "z" else ""
                canvas.rect(at, y + 2, width, HIGH - 4, COLORS[letter], hatch=hatch)
            at += width
    bottom = top + len(rows) * HIGH
    for share in (0, 0.25, 0.5, 0.75, 1):
        anchor = {0: "start", 1: "end"}.get(share, "middle")
        x = LEFT + share * (WIDE - LEFT - PAD)
        canvas.text(x, bottom + 16, f"{share * seconds:.0f} s", 12, anchor=anchor)
    there = {letter for row in rows for letter in row}
    legend = [
        (COLORS[letter], canvas.theme.wait if letter == "z" else "", word)
        for letter, word in (STATES | {".": "gone"}).items()
        if letter in there
    ]
    x = LEFT
    for color, hatch, word in legend:
        canvas.rect(x, bottom + 27, 14, 12, color, hatch=hatch)
        canvas.text(x + 20, bottom + 37, word, 12)
        x += 44 + 7 * len(word)
    canvas.height = bottom + 50
    share = sum(row.count("#") + row.count("+") for row in rows) / sum(map(len, rows))
    alt = (
        f"{title}. A row for each of {len(rows)} learners, over {seconds:.0f} seconds: they "
        f"compute {share:.0%} of the time, and the rest they are killed, frozen or coming back."
    )
    return Picture(canvas, title, alt)
