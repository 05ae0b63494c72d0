"""A board: the best first, equal ones share a place; below them who isn't in the race, and why.

The leaderboard of the puzzles and the scored tasks of a class are such tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from helpers.grade.many import Grades
from helpers.grade.verdict import EMPTY, Verdict
from helpers.grade.words import cut, in_one_line

MOST_NAME, MOST_REASON = 60, 1_000  # characters
STYLE = (
    ":root{color-scheme:light dark} body{font:16px system-ui,sans-serif;margin:2em}"
    "table{border-collapse:collapse} td,th{padding:.3em 1em;text-align:left;"
    "border-bottom:1px solid #8888} .reason{font-style:italic}"
)


@dataclass(frozen=True)
class Entry:
    """Who competes.

    key: what is compared, the least first, with as many digits as `cells` show; empty for who isn't
    in the race, and `reason` says why. cells: what the table shows behind the name.
    """

    name: str
    key: tuple[float, ...] = ()
    cells: tuple[str, ...] = ()
    reason: str = ""

    def __post_init__(self):
        for field, most in (("name", MOST_NAME), ("reason", MOST_REASON)):
            object.__setattr__(self, field, cut(in_one_line(getattr(self, field)), most))


def ranked(heads: Sequence[str], entries: Sequence[Entry]) -> list[list[str]]:
    """Return the table as text, its head first; a row without a place is a name and a reason."""
    racing = sorted((e for e in entries if e.key), key=lambda e: (e.key, e.name))
    keys = [entry.key for entry in racing]
    rows = [[str(keys.index(one.key) + 1), one.name, *one.cells] for one in racing]
    rows += [["", one.name, one.reason] for one in entries if not one.key]
    return [["place", "name", *heads], *rows]


def boards_of(grades: Grades) -> dict[str, list[list[str]]]:
    """Return {title: table} of the tasks for which somebody has a score.

    Only a pass has one, so what a check refused doesn't count; who hasn't begun isn't named.
    """
    boards = {}
    for task in grades.tasks:
        found = [(g.name, g.verdicts[task.id]) for g in grades.graded if task.id in g.verdicts]
        if score := next((v.score for _, v in found if v.score), None):
            begun = [_entry(name, v) for name, v in found if v.kind not in EMPTY]
            boards[f"{task.id}, {task.title}"] = ranked([score.unit], begun)
    return boards


def _entry(name: str, verdict: Verdict) -> Entry:
    if verdict.score:
        return Entry(name, (verdict.score.key,), (f"{verdict.score.number:,}",))
    return Entry(name, reason=verdict.reason or verdict.kind)


def in_text(table: list[list[str]]) -> str:
    """Return the table for a terminal."""
    full = [row for row in table if row[0]]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    widths[1] = max(len(row[1]) for row in table)
    lines = ["  ".join(t.ljust(w) for t, w in zip(row, widths, strict=False)) for row in table]
    return "\n".join(line.rstrip() for line in lines)


def in_html(boards: dict[str, list[list[str]]]) -> str:
    """Return {title: table} as a page that needs nothing else."""
    body = []
    for title, (head, *rows) in boards.items():
        body.append(f"<h1>{escape(title)}</h1>\n<table>{_row(head, 'th')}")
        for row in rows:
            why = f' colspan="{len(head) - 2}" class="reason"'
            body.append(_row(row, "td", "" if row[0] else why))
        body.append("</table>")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(', '.join(boards))}</title><style>{STYLE}</style></head>\n"
        f"<body>{''.join(body)}</body></html>\n"
    )


def _row(cells: list[str], tag: str, last: str = "") -> str:
    *before, end = (escape(text) for text in cells)
    inner = "".join(f"<{tag}>{text}</{tag}>" for text in before)
    return f"<tr>{inner}<{tag}{last}>{end}</{tag}></tr>"
