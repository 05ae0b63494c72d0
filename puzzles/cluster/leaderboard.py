"""A leaderboard over a folder of submissions.

    python -m cluster.leaderboard FOLDER [--part 4] [--case 32,64,2048,64] [--page board.html]

A submission is FOLDER/name/part4.py or FOLDER/name.py. Each runs in a process of its own with
limits of time and memory; what it did is done again in another one, and only that counts. The
order: score, then MFU, then memory. Equal ones share a place. With several --case, means are
compared.

Submissions run AS YOU: nothing keeps them from your files or from the network. What they leave
running is ended where it can be found. Where you would not run somebody's code yourself, use a
machine or a user that has nothing to lose; `python -m helpers.grade PZ-P4` confines it on Linux.
"""

import argparse
import sys
from pathlib import Path

from cluster.board import Entry, in_html, in_text, places
from cluster.errors import PuzzleError
from cluster.profiles import PROFILES, make_profile
from cluster.referee import outcomes_of
from cluster.submission import Case, ask
from helpers.files import write_whole

# part: (function, default case: ranks, layers, samples, samples of a micro-batch or None)
PARTS = {
    0: ("train_ddp", (8, 36, 32, 4)),
    1: ("part1_training_loop", (32, 64, 256, 8)),
    2: ("part2_training_loop", (4, 16, 2048)),
    3: ("part3_training_loop", (16, 32, 2048, 128)),
    4: ("part4_training_loop", (32, 64, 2048, 64)),
}


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
    wanted = [Case(*case[:3], case[3:], settings) for case in cases]
    try:
        answers = ask(path, PARTS[part][0], wanted, seconds)
        for kind, text in answers:
            if kind != "tape":
                return Entry(name, reason=text)
        return Entry(name, tuple(outcomes_of([tape for _, tape in answers], wanted, seconds)))
    except PuzzleError as error:
        return Entry(name, reason=str(error))
    except Exception as error:  # of one alone: the others are judged
        return Entry(name, reason=f"it cannot be judged: {type(error).__name__}: {error}")


def main(arguments: list[str] | None = None) -> int:
    """0, or 2 where the question was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m cluster.leaderboard",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", type=int, choices=PARTS, default=4)
    parser.add_argument("--case", action="append", help="RANKS,LAYERS,SAMPLES[,MICRO-BATCH]")
    parser.add_argument("--profile", default="classic", help=", ".join(PROFILES))
    parser.add_argument("--machine", help="a name in machines/, or a Calculon system file")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each case (60)")
    parser.add_argument("--page", type=Path, help="write the table there too, as HTML")
    flags = parser.parse_args(arguments)
    settings = {"profile": flags.profile, "machine": flags.machine}
    try:
        cases = [_case(text, flags.part) for text in flags.case or ()] or [PARTS[flags.part][1]]
        if not 0 < flags.seconds < float("inf"):
            raise PuzzleError(f"--seconds must be above 0, not {flags.seconds:g}")
        make_profile(flags.profile, flags.machine, max(case[0] for case in cases))  # or refuse it
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
    wanted = len(PARTS[part][1])
    try:
        case = tuple(int(number) for number in text.split(","))
    except ValueError:
        case = ()
    if len(case) != wanted or min(case) < 1:
        raise PuzzleError(f"--case {text}: part {part} needs {wanted} whole numbers with commas")
    return case


if __name__ == "__main__":
    sys.exit(main())
