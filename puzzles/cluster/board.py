"""The table of a leaderboard: who is where, as text and as a page."""

import html
from dataclasses import dataclass

from cluster.outcome import Outcome
from helpers.grade.words import cut, in_one_line

MOST_NAME, MOST_REASON = 60, 1_000  # characters


@dataclass(frozen=True)
class Entry:
    """A submission: its outcomes, one for each case, or why there are none."""

    name: str
    outcomes: tuple[Outcome, ...] = ()
    reason: str = ""

    def __post_init__(self):
        for field, most in (("name", MOST_NAME), ("reason", MOST_REASON)):
            object.__setattr__(self, field, cut(in_one_line(getattr(self, field)), most))

    def mean(self, fact) -> float:
        return sum(map(fact, self.outcomes)) / len(self.outcomes)

    @property
    def key(self) -> tuple[float, float, float]:
        """What is compared, the best first: as many digits as the table shows."""
        score = self.mean(lambda o: o.points[0])
        mfu, memory = self.mean(lambda o: o.mfu), self.mean(lambda o: o.memory)
        return -round(score, 2), -round(100 * mfu, 2), round(memory / 1e9, 2)


def places(entries: list[Entry]) -> list[tuple[int | None, Entry]]:
    """The entries in order, each with its place; equal ones share it; None: not in the race."""
    racing = sorted((e for e in entries if e.outcomes), key=lambda e: (e.key, e.name))
    keys = [entry.key for entry in racing]
    board = [(keys.index(entry.key) + 1, entry) for entry in racing]
    return board + [(None, entry) for entry in entries if not entry.outcomes]


def rows(board) -> list[list[str]]:
    """The table as text, its head first."""
    head = ["place", "name", "score", "MFU", "memory", "time"]
    table = [head]
    for place, entry in board:
        if place is None:
            table.append(["", entry.name, entry.reason])
            continue
        score, mfu, memory = entry.key
        unit = entry.outcomes[0].memory_unit
        time = f"{entry.mean(lambda o: o.time):.6f} {entry.outcomes[0].unit}"
        told = f"{memory:.2f}e9 {unit}"
        table.append([str(place), entry.name, f"{-score:.2f}", f"{-mfu:.2f} %", told, time])
    return table


def in_text(board) -> str:
    """The table for a terminal."""
    table = rows(board)
    full = [row for row in table if len(row) == 6]
    widths = [max(len(row[i]) for row in full) for i in range(6)]
    widths[1] = max(len(row[1]) for row in table)
    lines = ["  ".join(t.ljust(w) for t, w in zip(row, widths, strict=False)) for row in table]
    return "\n".join(line.rstrip() for line in lines)


def in_html(board, title: str) -> str:
    """The table as a page that needs nothing else."""
    body = []
    for number, row in enumerate(rows(board)):
        tag = "td" if number else "th"
        cells = [f"<{tag}>{html.escape(text)}</{tag}>" for text in row]
        if len(row) == 3:
            cells[2] = cells[2].replace("<td>", '<td colspan="4" class="reason">', 1)
        body.append(f"<tr>{''.join(cells)}</tr>")
    style = (
        ":root{color-scheme:light dark} body{font:16px system-ui,sans-serif;margin:2em}"
        "table{border-collapse:collapse} td,th{padding:.3em 1em;text-align:left;"
        "border-bottom:1px solid #8888} .reason{font-style:italic}"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}'
        f"</title><style>{style}</style></head>\n<body><h1>{html.escape(title)}</h1>\n<table>"
        f"{''.join(body)}</table></body></html>\n"
    )
