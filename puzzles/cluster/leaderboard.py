"""A leaderboard over a folder of submissions.

    python -m cluster.leaderboard FOLDER [--part 4] [--case 32,64,2048,64] [--page board.html]

A submission is FOLDER/name/part4.py or FOLDER/name.py. It runs as the grader runs it, in a sandbox
where there is one; what it did is done again here, and only that counts. The order: score, then
MFU, then memory. Equal ones share a place. With several --case, means are compared.
"""

import argparse
import html
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cluster.errors import PuzzleError
from cluster.machine import read_table
from cluster.model import run
from cluster.outcome import Outcome, outcome
from cluster.profiles import PROFILES, make_profile
from cluster.tape import outcome_of
from helpers.files import write_whole
from helpers.grade.copy import CopyError, copy_work
from helpers.grade.limits import Limits
from helpers.grade.submission import Submission
from helpers.grade.task import WorkFailed, load_task
from helpers.grade.words import cut, in_one_line

MOST_NAME, MOST_REASON = 60, 1_000  # characters
# Of each part: ranks, layers, samples, and samples of a micro-batch where it takes them.
DEFAULTS = {
    0: (8, 36, 32, 4),
    1: (32, 64, 256, 8),
    2: (4, 16, 2048),
    3: (16, 32, 2048, 128),
    4: (32, 64, 2048, 64),
    5: (48, 60, 192, 1),
}
GIGABYTES = 4.0  # for a submission


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


def submissions(folder: Path, part: int) -> dict[str, Path]:
    """The file of each submission, by name. Raises PuzzleError where there is none."""
    if not folder.is_dir():
        raise PuzzleError(f"there is no folder {folder}")
    found = {path.parent.name: path for path in folder.glob(f"*/part{part}.py")}
    for path in folder.glob("*.py"):  # ada/part4.py and ada.py are two submissions
        found[path.name if path.stem in found else path.stem] = path
    if not found:
        raise PuzzleError(
            f"{folder} holds no submission: put them at NAME/part{part}.py or NAME.py"
        )
    return dict(sorted(found.items()))


def compete(steps: dict[str, Callable], part: int = 5, profile: str = "measured") -> str:
    """Return the table of steps of your own, run here: for a notebook, not for strangers' work."""
    entries = []
    for name, step in steps.items():
        case = DEFAULTS[part] if step.__code__.co_argcount == 2 else DEFAULTS[part][:3]
        try:
            entries.append(Entry(name, (outcome(run(step, *case, profile=profile)),)))
        except PuzzleError as error:
            entries.append(Entry(name, reason=str(error).split(": it would")[0]))
    return in_text(places(entries))


def judge(name: str, path: Path, part: int, cases, settings: dict, seconds: float) -> Entry:
    """Run one submission on every case. Whatever goes wrong is the entry's reason."""
    names = ("ranks", "layers", "samples")
    wanted = [
        {**dict(zip(names, case, strict=False)), "more": case[3:], "seconds": seconds, **settings}
        for case in cases
    ]
    try:
        recorded = observe(name, path, part, wanted, seconds * len(cases))
        pairs = zip(recorded, wanted, strict=True)
        return Entry(name, tuple(outcome_of(*pair, seconds) for pair in pairs))
    except (PuzzleError, WorkFailed, CopyError) as error:
        return Entry(name, reason=str(error))
    except Exception as error:  # of one alone: the others are judged
        return Entry(name, reason=f"it cannot be judged: {type(error).__name__}: {error}")


def observe(name: str, path: Path, part: int, cases: list[dict], seconds: float) -> list:
    """Run a submission as the grader does; what the task of the part observes in each case."""
    found = load_task(f"PZ-P{part}")
    file = Path(found.task.file)
    with tempfile.TemporaryDirectory(prefix="submission-", ignore_cleanup_errors=True) as place:
        root, folder = Path(place, "work"), Path(place, "work", file.parent)
        if path.name == file.name and path.parent.name == name:  # with what lies beside it
            task = replace(found.task, file=f"{name}/{path.name}")
            copy_work(path.parent.parent, task, root)
            (root / name).rename(folder)
        else:
            copy_work(path.parent, replace(found.task, file=path.name), root)
            folder.mkdir()
            (root / path.name).rename(root / file)
        with Submission(root) as submission:
            return submission.observe(found, cases, Limits(10 + seconds, GIGABYTES)).observations


def main(arguments: list[str] | None = None) -> int:
    """0, or 2 where the question was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m cluster.leaderboard",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", type=int, choices=DEFAULTS, default=4)
    parser.add_argument("--case", action="append", help="RANKS,LAYERS,SAMPLES[,MICRO-BATCH]")
    parser.add_argument("--profile", help=f"{', '.join(PROFILES)} (classic; of part 5 measured)")
    parser.add_argument("--machine", help="a name in machines/, or a Calculon system file")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each case (60)")
    parser.add_argument("--page", type=Path, help="write the table there too, as HTML")
    flags = parser.parse_args(arguments)
    flags.profile = flags.profile or ("measured" if flags.part == 5 else "classic")
    settings = {"profile": flags.profile, "machine": flags.machine}
    try:
        cases = [_case(text, flags.part) for text in flags.case or ()] or [DEFAULTS[flags.part]]
        if not 0 < flags.seconds < float("inf"):
            raise PuzzleError(f"--seconds must be above 0, not {flags.seconds:g}")
        if flags.machine:  # the file isn't there where a submission runs
            settings["machine"] = read_table(flags.machine)[0]
        make_profile(*settings.values(), max(case[0] for case in cases))  # or refuse it
        found = submissions(flags.folder, flags.part)
        entries = [
            judge(name, path, flags.part, cases, settings, flags.seconds)
            for name, path in found.items()
        ]
        board = places(entries)
        print(in_text(board))
        if flags.page:
            title = f"Part {flags.part}, profile {flags.profile}"
            print(f"page: {write_whole(flags.page, in_html(board, title))}")
    except (PuzzleError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _case(text: str, part: int) -> tuple[int, ...]:
    wanted = len(DEFAULTS[part])
    try:
        case = tuple(int(number) for number in text.split(","))
    except ValueError:
        case = ()
    if len(case) != wanted or min(case) < 1:
        raise PuzzleError(f"--case {text}: part {part} needs {wanted} whole numbers with commas")
    return case


if __name__ == "__main__":
    sys.exit(main())
