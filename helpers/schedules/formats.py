"""Schedules from CSV files, and to them.

The CSV is the format of torch.distributed.pipelining: a row per rank, cells like 2F0.

What `_dump_csv` of its schedules writes is read here, and what is written here it reads as
"compute_only". Its cells for messages (3SEND_F1) and for sharded weights (1UNSHARD) are left out:
here messages follow from the order. An empty cell is a place in which a rank does nothing.
A pair is the cell (0F2;3B0)OVERLAP_F_B.
"""

import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path

from helpers.files import as_path, read_whole, write_whole
from helpers.schedules.schedule import Action, Schedule, of_turns, read_action

_NO_COMPUTE = re.compile(r"\d+(SEND_F|RECV_F|SEND_B|RECV_B|UNSHARD|RESHARD|REDUCE_GRAD)\d*")
_PAIR = re.compile(r"\((.*)\)OVERLAP_F_B")  # a forward and a backward that run as one


def to_csv(schedule: Schedule) -> str:
    """Return the schedule as text, a row per rank."""
    rows = io.StringIO(newline="")
    # A rank without actions is a row with one empty cell: an empty line at the end would be lost.
    for rank in range(schedule.size):
        cells = [_cell(turn) for _, turn in schedule.turns(rank)]
        csv.writer(rows).writerow(cells or [""])
    return rows.getvalue()


def _cell(turn: Sequence[Action]) -> str:
    return str(turn[0]) if len(turn) == 1 else f"({';'.join(map(str, turn))})OVERLAP_F_B"


def from_csv(text: str, name: str = "from a CSV file") -> Schedule:
    """Read a schedule from such a text.

    Raises:
        ValueError: with row and column, where a cell isn't an action.
    """
    table = list(csv.reader(io.StringIO(text, newline="")))
    while table and not table[-1]:
        table.pop()
    if not table:
        raise ValueError("the table is empty: write a row for each rank, with cells like 0F0")
    ranks = []
    for row, cells in enumerate(table, start=1):
        turns: list[list[Action]] = []
        for column, cell in enumerate(cells, start=1):
            try:
                if turn := _read(cell.strip()):
                    turns.append(turn)
            except ValueError as error:
                raise ValueError(f"row {row}, column {column}: {error}") from None
        ranks.append(turns)
    return of_turns(name, ranks)


def _read(cell: str) -> list[Action]:
    pair = _PAIR.fullmatch(cell)
    if pair:
        return [read_action(part.strip()) for part in pair.group(1).split(";")]
    return [] if not cell or _NO_COMPUTE.fullmatch(cell) else [read_action(cell)]


def save_csv(schedule: Schedule, path: str | os.PathLike) -> Path:
    """Write the schedule to a file, whole or not at all."""
    return write_whole(path, to_csv(schedule))


def load_csv(path: str | os.PathLike) -> Schedule:
    """Read a schedule from a file; it gets the file's name.

    Raises:
        OSError: if the file can't be read.
        ValueError: if it isn't a schedule, with row and column.
    """
    path = as_path(path)
    try:
        text = read_whole(path).decode("utf-8")
    except OSError as error:
        raise type(error)(f"cannot read the schedule {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no schedule: it is not text") from error
    try:
        return from_csv(text, path.stem)
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None
