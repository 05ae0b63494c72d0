"""A leaderboard over a folder of submissions.

    python -m cluster.leaderboard FOLDER [--part 4] [--case 32,64,2048,64] [--page board.html]

A submission is FOLDER/name/part4.py or FOLDER/name.py. It runs as the grader runs it, in a sandbox
where there is one; what it did is done again here, and only that counts. The order: score, then
MFU, then memory. Equal ones share a place. With several --case, means are compared.
"""

import argparse
import inspect
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cluster.errors import PuzzleError
from cluster.machine import read_table
from cluster.model import run
from cluster.outcome import Outcome, outcome
from cluster.profiles import PROFILES, make_profile
from cluster.tape import outcome_of
from helpers.files import write_whole
from helpers.grade.board import Entry, in_html, in_text, ranked
from helpers.grade.copy import CopyError, copy_work
from helpers.grade.limits import Limits
from helpers.grade.submission import Submission
from helpers.grade.task import WorkFailed, load_task

HEADS = ("score", "MFU", "memory", "time")
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


def entry(name: str, *outcomes: Outcome) -> Entry:
    """Return the row of a submission that ran; it competes with all it shows, except the time."""

    def mean(fact: Callable[[Outcome], float]) -> float:
        return sum(map(fact, outcomes)) / len(outcomes)

    score = round(mean(lambda o: o.points[0]), 2)
    mfu = round(100 * mean(lambda o: o.mfu), 2)
    memory = round(mean(lambda o: o.memory) / 1e9, 2)
    told = f"{memory:.2f}e9 {outcomes[0].memory_unit}"
    time = f"{mean(lambda o: o.time):.6f} {outcomes[0].unit}"
    return Entry(name, (-score, -mfu, memory), (f"{score:.2f}", f"{mfu:.2f} %", told, time))


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
        case = (
            DEFAULTS[part] if inspect.unwrap(step).__code__.co_argcount == 2 else DEFAULTS[part][:3]
        )
        try:
            entries.append(entry(name, outcome(run(step, *case, profile=profile))))
        except PuzzleError as error:
            entries.append(Entry(name, reason=str(error).split(": it would")[0]))
    return in_text(ranked(HEADS, entries))


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
        return entry(name, *(outcome_of(*pair, seconds) for pair in pairs))
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
        board = ranked(HEADS, entries)
        print(in_text(board))
        if flags.page:
            title = f"Part {flags.part}, profile {flags.profile}"
            print(f"page: {write_whole(flags.page, in_html({title: board}))}")
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
