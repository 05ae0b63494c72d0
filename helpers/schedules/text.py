"""Schedules as text, to write by hand in a cell.

    rank 0: F0 F1 B0 B1         one stage a rank: stage 0 on rank 0, and so on
    rank 1: F0 B0 F1 B1

    rank 0: 0F0 2F0 2B0 0B0     several stages a rank: each action names its stage first
    rank 1: 1F0 3F0 3B0 1B0

Spaces, commas or | between actions; a . or - is an empty place; # begins a comment.
"""

import re

from helpers.schedules.action import Action, names_a_stage, read_action
from helpers.schedules.schedule import Schedule

EMPTY = {".", "-"}


def parse(text: str, name: str = "by hand") -> Schedule:
    """Read such a text. ValueError, one sentence with line and column, where it is no schedule."""
    rows: dict[int, list[tuple[int, int, str]]] = {}  # (line, column, cell), both from 1
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.split("#")[0]
        if line.strip():
            rank, start = _rank(line, number, rows)
            found = re.finditer(r"[^\s,|]+", line[start:])
            rows[rank] = [(number, start + f.start() + 1, f.group()) for f in found]
    if not rows:
        raise ValueError('the text holds no schedule: write a line for each rank, "rank 0: F0 B0"')
    for rank in range(len(rows)):
        if rank not in rows:
            raise ValueError(
                f"there is no line for rank {rank}, and one for rank {max(rows)}: write one for "
                f"each rank from 0 to {max(rows)}"
            )
    cells = [cell for row in rows.values() for _, _, cell in row]
    with_stage = any(map(names_a_stage, cells))
    ranks = [_actions(rows[rank], None if with_stage else rank) for rank in range(len(rows))]
    return Schedule(name, ranks)


def _rank(line: str, number: int, rows: dict) -> tuple[int, int]:
    """The rank that a line is of, and where its actions begin."""
    head = re.match(r"\s*(?:rank\s*)?(\d+)\s*:", line, re.IGNORECASE)
    if head is None:
        raise ValueError(
            f'line {number} does not say which rank it is of: begin it with "rank {len(rows)}:"'
        )
    rank = int(head.group(1))
    if rank in rows:
        raise ValueError(f"line {number}: rank {rank} has a line already; write one for each rank")
    return rank, head.end()


def _actions(row: list[tuple[int, int, str]], stage: int | None) -> list[Action]:
    actions = []
    for line, column, cell in row:
        if cell not in EMPTY:
            try:
                actions.append(read_action(cell, stage))
            except ValueError as error:
                raise ValueError(f"line {line}, column {column}: {error}") from None
    return actions


def to_text(schedule: Schedule) -> str:
    """A line for each rank, which `parse` reads again; stages only where they are needed."""
    implied = schedule.rank_of == tuple(range(schedule.size))
    width = len(str(schedule.size - 1))
    lines = []
    for rank, actions in enumerate(schedule.ranks):
        cells = [f"{a.kind}{a.micro_batch}" if implied else str(a) for a in actions]
        lines.append(f"rank {rank:{width}}: {' '.join(cells)}".rstrip())
    return "\n".join(lines)
