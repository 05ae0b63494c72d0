"""`python -m helpers.grade [TASK …] [--root FOLDER] [--json]`, or `--all FOLDER`."""

import argparse
import sys
import time
from pathlib import Path

from helpers.files import write_whole
from helpers.grade import sandbox
from helpers.grade.judge import prepare
from helpers.grade.limits import Limits
from helpers.grade.many import Graded, Grades, grade_all, grade_one, json_of
from helpers.grade.notebook import find_root
from helpers.grade.record import holds_solution, remember
from helpers.grade.submission import Submission
from helpers.grade.submitted import submissions
from helpers.grade.tables import csv_of, struggles_of, text_of
from helpers.grade.task import WorkFailed, all_tasks, tasks_of
from helpers.grade.verdict import Verdict, table
from helpers.grade.words import why_not
from helpers.ranks import usable_cores

ITS_OWN = (
    "This folder holds the solutions, and each was compared with itself: a change to one passes, "
    "too. To write them yourself: make student."
)


def main(arguments: list[str] | None = None) -> int:
    """Return 0 if every task passed (or all submissions were graded), 1 if not, 2 for wrong
    arguments, 130 if it was stopped by hand."""
    options = _options(arguments)
    try:
        _refuse(options)
        if options.limits:
            return _show_limits(Limits(gigabytes=options.memory))
        ids = tasks_of(options.tasks) if options.tasks else [task.id for task in all_tasks()]
        if options.all is not None:
            return _grade_all(options, ids)
        return _grade_one(options, ids)
    except (ValueError, OSError, WorkFailed) as error:
        print(why_not(error), file=sys.stderr)
        return 2


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade",
        description="Check tasks. The checks are this repository's own; the work is in ROOT.",
    )
    add = parser.add_argument
    add("tasks", nargs="*", metavar="TASK", help="DP-1, a lab (DP) or a lesson (03); default: all")
    add("--root", type=Path, help="the repository or zip to grade; this one by default")
    add("--all", type=Path, metavar="FOLDER", help="grade each folder and zip in FOLDER")
    add("--out", type=Path, help="where the table of --all goes (default: build/grades)")
    add("--jobs", type=int, help="with --all: checks at once (default: half of the cores)")
    add("--seconds", type=float, help="time limit for each task")
    add("--memory", type=float, default=Limits.gigabytes, help="gigabytes for each task")
    add("--seed", type=int, help="draw the inputs from this seed (default: a new one)")
    add("--limits", action="store_true", help="say which limits hold on this system")
    add("--json", action="store_true", help="print one JSON document, the table beside it")
    return parser.parse_args(arguments)


def _refuse(options: argparse.Namespace) -> None:
    """Raise ValueError for what cannot be, before anything runs."""
    if options.all and options.root:
        raise ValueError("give --all or --root, not both: --all already says what to grade")
    if options.root and not options.root.exists():
        raise ValueError(f"there is no folder {options.root}: give --root the repository to grade")
    if options.jobs is not None and options.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, not {options.jobs}")
    if options.seconds is not None and not options.seconds > 0:
        raise ValueError(f"--seconds must be above 0, not {options.seconds:g}")
    Limits(Limits.seconds if options.seconds is None else options.seconds, options.memory)


def _show_limits(limits: Limits) -> int:
    """Print a line for each limit. 0 if all hold, 1 if not."""
    with Submission(find_root()) as submission:
        submission.begin()
        held = submission.held(limits)
    lines = [f"held      {name}: {how}" for name, how in held.held.items()]
    lines += [f"NOT HELD  {name}" for name in held.open]
    if held.open:
        why = sandbox.why_not()
        lines.append(f"Work would run as you, so it could read and change your files ({why}).")
        lines.append('What to do: "What holds a submission" in TEACHING.md.')
    print("\n".join(lines))
    return 1 if held.open else 0


def _grade_one(options: argparse.Namespace, ids: list[str]) -> int:
    root, waiting = options.root or find_root(), iter(ids)

    def tell() -> None:
        if sys.stderr.isatty() and (task_id := next(waiting, "")):
            print(f"checking {task_id} …", end="\r", file=sys.stderr, flush=True)

    def done(verdict: Verdict) -> None:
        if options.root is None:
            remember(verdict, root)
        tell()

    tell()
    grades = grade_one(root, ids, options.seed, done, options.seconds, options.memory)
    verdicts = list(grades.graded[0].verdicts.values())
    if verdicts:
        own = not options.root and any(v.passed and holds_solution(root, v.task) for v in verdicts)
        _show(options, grades, table(verdicts) + (f"\n{ITS_OWN}" if own else ""))
    if grades.interrupted:
        print(f"stopped after {len(verdicts)} of {len(ids)} tasks", file=sys.stderr)
        return 130
    return 0 if all(v.passed for v in verdicts) else 1


def _show(options: argparse.Namespace, grades: Grades, text: str) -> None:
    """With --json the output is one document, and what a person reads goes beside it."""
    print(text, file=sys.stderr if options.json else sys.stdout)
    if options.json:
        print(json_of(grades), end="")


def _grade_all(options: argparse.Namespace, ids: list[str]) -> int:
    paths = submissions(options.all)
    out = options.out or Path("build", "grades")
    out.mkdir(parents=True, exist_ok=True)  # before hours of grading that nobody could see
    begun = time.monotonic()

    def save(grades: Grades, one: Graded | None = None) -> None:
        grades.seconds = time.monotonic() - begun
        # The mark by which Excel knows UTF-8.
        write_whole(out / "grades.csv", "\ufeff" + csv_of(grades))
        if one:
            left = sum(not other.verdicts for other in grades.graded)
            print(f"{one.name}: {one.points} of {grades.of} points ({left} to go)", file=sys.stderr)

    grades = grade_all(
        paths, ids, options.jobs or max(1, usable_cores() // 2), options.seed, save,
        seconds=options.seconds, gigabytes=options.memory,
    )  # fmt: skip
    save(grades)
    done = f"{len(paths)} submissions in {grades.seconds:.0f} s; see {out}/grades.csv"
    done = f"stopped by hand: {done}" if grades.interrupted else done
    _show(options, grades, "\n\n".join([text_of(grades), struggles_of(grades), done]))
    return 130 if grades.interrupted else 0


if __name__ == "__main__":
    prepare()
    sys.exit(main())
