"""A leaderboard over a folder of submissions.

    python -m cluster.leaderboard FOLDER [--part 4] [--case 32,64,2048,64] [--page board.html]

A submission is FOLDER/name/part4.py or FOLDER/name.py. It runs as the grader runs it, in a sandbox
where there is one; what it did is done again in another process, and only that counts. The order:
score, then MFU, then memory. Equal ones share a place. With several --case, means are compared.
"""

import argparse
import multiprocessing
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from cluster.board import Entry, in_html, in_text, places
from cluster.errors import PuzzleError
from cluster.machine import read_table
from cluster.outcome import Outcome
from cluster.profiles import PROFILES, make_profile
from cluster.tape import outcome_of
from helpers.files import write_whole
from helpers.grade.copy import CopyError, copy_work
from helpers.grade.limits import Limits
from helpers.grade.processes import Guard
from helpers.grade.submission import Submission
from helpers.grade.task import WorkFailed, load_task

# Of each part: ranks, layers, samples, and samples of a micro-batch where it takes them.
DEFAULTS = {
    0: (8, 36, 32, 4),
    1: (32, 64, 256, 8),
    2: (4, 16, 2048),
    3: (16, 32, 2048, 128),
    4: (32, 64, 2048, 64),
}
GIGABYTES = 4.0  # for a submission, and for its judgment


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


def judge(name: str, path: Path, part: int, cases, settings: dict, seconds: float) -> Entry:
    """Run one submission on every case. Whatever goes wrong is the entry's reason."""
    names = ("ranks", "layers", "samples")
    wanted = [
        {**dict(zip(names, case, strict=False)), "more": case[3:], "seconds": seconds, **settings}
        for case in cases
    ]
    try:
        recorded = observe(name, path, part, wanted, seconds * len(cases))
        return Entry(name, tuple(outcomes_of(recorded, wanted, seconds)))
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


def outcomes_of(
    recorded: list, cases: list[dict], seconds: float, gigabytes: float = GIGABYTES
) -> list[Outcome]:
    """The outcome of each tape, which is played in a process of its own, with limits.

    Whoever made a tape also chooses how much time and memory it takes to play it again.

    Args:
        recorded: an observation for each case.
        cases: as `tape.record` takes them.
        seconds: for each.

    Raises:
        PuzzleError: a tape is wrong, or takes too much.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_play, args=(theirs, recorded, cases, seconds), daemon=True)
    process.start()
    theirs.close()
    guard = Guard(process.pid, Limits(seconds, gigabytes))
    try:
        if not ours.poll(10 + seconds * len(cases)):
            raise PuzzleError("judging what the step did takes too long")
        found = ours.recv()
    except EOFError:
        told = guard.reason or "its process died"
        raise PuzzleError(f"judging what the step did: {told}") from None
    finally:
        guard.stop()
        process.kill()
        process.join()
    if isinstance(found, PuzzleError):
        raise found
    return found


def _play(answer, recorded: list, cases: list[dict], seconds: float) -> None:
    """In that process."""
    try:
        found = [outcome_of(*each, seconds) for each in zip(recorded, cases, strict=True)]
    except PuzzleError as error:
        found = PuzzleError(str(error))
    answer.send(found)


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
    parser.add_argument("--profile", default="classic", help=", ".join(PROFILES))
    parser.add_argument("--machine", help="a name in machines/, or a Calculon system file")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each case (60)")
    parser.add_argument("--page", type=Path, help="write the table there too, as HTML")
    flags = parser.parse_args(arguments)
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
