"""`python -m helpers.grade [TASK …] [--root FOLDER] [--json]`, or `--all FOLDER`."""

import argparse
import csv
import json
import sys
import time
from pathlib import Path

from helpers.files import write_whole
from helpers.grade import sandbox
from helpers.grade.board import boards_of, in_html, in_text
from helpers.grade.html import html_of
from helpers.grade.judge import judge, prepare
from helpers.grade.limits import Limits
from helpers.grade.many import Graded, Grades, grade_all, json_of
from helpers.grade.notebook import find_root
from helpers.grade.people import read_roster
from helpers.grade.record import remember
from helpers.grade.roster import add_rules, rules_of, write_class
from helpers.grade.submission import Submission
from helpers.grade.submitted import opened, submissions
from helpers.grade.tables import csv_of, text_of, verdicts_csv_of, write_table
from helpers.grade.task import WorkFailed, all_tasks, load_task, tasks_of
from helpers.grade.verdict import Verdict, table
from helpers.grade.words import why_not
from helpers.ranks import usable_cores


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
    except (ValueError, OSError, WorkFailed, csv.Error) as error:
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
    add("--out", type=Path, help="where the tables of --all go (default: build/grades)")
    add("--roster", type=Path, metavar="FILE", help="with --all: a table of the class's people")
    add_rules(parser)
    add("--jobs", type=int, help="with --all: checks at once (default: half of the cores)")
    add("--seconds", type=float, help="time limit for each task")
    add("--memory", type=float, default=Limits.gigabytes, help="gigabytes for each task")
    add("--seed", type=int, help="draw the inputs from this seed (default: a new one)")
    add("--limits", action="store_true", help="say which limits hold on this system")
    add("--json", action="store_true", help="print the verdicts as JSON")
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
    if not options.all and (options.roster or options.due or options.attempts or options.times):
        raise ValueError("--roster, --due, --times and --attempts need --all")
    if options.roster:
        read_roster(options.roster)  # before hours of grading
    elif options.due or options.attempts or options.times:
        raise ValueError("--due, --times and --attempts need --roster, which says who handed in")
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
    tasks = [load_task(task_id) for task_id in ids]
    files = [found.task.file for found in tasks]
    verdicts: list[Verdict] = []
    with opened(options.root or find_root(), files) as root, Submission(root) as submission:
        try:
            for found in tasks:
                if sys.stderr.isatty():
                    print(f"checking {found.task.id} …", end="\r", file=sys.stderr, flush=True)
                verdicts.append(
                    judge(found, submission, options.seed, options.seconds, options.memory)
                )
                if options.root is None:
                    remember(verdicts[-1], root)
        except KeyboardInterrupt:
            print(f"stopped after {len(verdicts)} of {len(ids)} tasks", file=sys.stderr)
    if options.json:
        print(json.dumps([v.as_dict() for v in verdicts], indent=1))
    elif verdicts:
        print(table(verdicts))
    if len(verdicts) < len(ids):
        return 130
    return 0 if all(v.passed for v in verdicts) else 1


def _grade_all(options: argparse.Namespace, ids: list[str]) -> int:
    paths, rules = submissions(options.all), rules_of(options)
    out = options.out or Path("build", "grades")
    out.mkdir(parents=True, exist_ok=True)  # before hours of grading that nobody could see
    begun = time.monotonic()

    def save(grades: Grades, one: Graded | None = None) -> None:
        grades.seconds = time.monotonic() - begun
        write_table(out / "grades.csv", csv_of(grades))
        write_table(out / "verdicts.csv", verdicts_csv_of(grades))
        write_whole(out / "grades.json", json_of(grades))
        write_whole(out / "grades.html", html_of(grades, f"Grades: {options.all.name}"))
        if boards := boards_of(grades):
            write_whole(out / "board.html", in_html(boards))
        if one:
            left = sum(not other.verdicts for other in grades.graded)
            print(f"{one.name}: {one.points} of {grades.of} points ({left} to go)", file=sys.stderr)

    grades = grade_all(
        paths, ids, options.jobs or max(1, usable_cores() // 2), options.seed, save,
        seconds=options.seconds, gigabytes=options.memory,
    )  # fmt: skip
    save(grades)
    if options.json:
        print(json_of(grades), end="")
    else:
        print(text_of(grades))
        for title, found in boards_of(grades).items():
            print(f"\n{title}\n{in_text(found)}")
        done = f"{len(paths)} submissions in {grades.seconds:.0f} s"
        print(f"{'stopped by hand: ' if grades.interrupted else ''}{done}; see {out}/grades.html")
    if options.roster:
        title = options.title or " ".join(options.tasks) or "lab"
        lines = write_class(grades.as_dict(), out, title, options.roster, **rules)
        print("\n".join(lines), file=sys.stderr if options.json else sys.stdout)
    return 130 if grades.interrupted else 0


if __name__ == "__main__":
    prepare()
    sys.exit(main())
