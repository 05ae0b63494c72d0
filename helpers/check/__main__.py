"""`python -m helpers.check [TASK …]`, `--all FOLDER --out grades.csv`, or `--progress`."""

import argparse
import csv
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from helpers.check.judge import check
from helpers.check.marks import TaskError
from helpers.check.progress import overview
from helpers.check.task import Task, tasks_of


def main(arguments: list[str] | None = None) -> int:
    """Return 0 if every task passed, or a class was graded; 1 if not; 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="python -m helpers.check", description="Check tasks.")
    add = parser.add_argument
    add("tasks", nargs="*", help="DP-1, a lab (DP) or a lesson (03); default: all")
    add("--root", type=Path, help="the folder with the work; this lab by default")
    add("--all", type=Path, metavar="FOLDER", help="grade each folder and zip in FOLDER")
    add("--out", type=Path, default=Path("grades.csv"), help="the table of --all")
    add("--hint", type=int, default=0, help="show this hint of what isn't right yet; 1 is a nudge")
    add("--seed", type=int, help="draw the inputs from this seed")
    add("--progress", action="store_true", help="what is done of the lessons, and what is next")
    options = parser.parse_args(arguments)
    try:
        if options.progress:
            print(overview())
            return 0
        tasks = tasks_of(options.tasks)
        if not 0 <= (options.seed or 0) < 2**32:
            raise TaskError(f"--seed {options.seed}: give a whole number from 0 to {2**32 - 1:,}")
        for folder in filter(None, (options.root, options.all)):
            if not folder.is_dir():
                raise TaskError(f"there is no folder {folder}")
        if options.all:
            grade_all(options.all, tasks, options.out, options.seed or 0)
            return 0
        passed = points = 0
        for task in tasks:
            verdict = check(task.id, options.hint, options.root, options.seed)
            print(verdict, flush=True)
            passed, points = passed + verdict.passed, points + verdict.points
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    of = sum(task.points for task in tasks)
    print(f"{passed} of {len(tasks)} passed, {points} of {of} points")
    return int(passed < len(tasks))


def grade_all(folder: Path, tasks: list[Task], out: Path, seed: int) -> None:
    """Write a row for each folder and zip: points, and of each task its points and the sentence."""
    every = {p for p in folder.iterdir() if p.name[0] != "." and p.resolve() != out.resolve()}
    paths = {p for p in every if p.is_dir() or p.suffix.lower() == ".zip"}
    heads = [head for t in tasks for head in (t.id, f"{t.id} says", f"{t.id} score")]
    with open(out, "w", encoding="utf-8-sig", newline="") as file:  # the mark is for Excel
        table = csv.writer(file)
        table.writerow(["name", f"points of {sum(t.points for t in tasks)}", *heads])
        for path in sorted(paths):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
                trouble = ""
                try:
                    if path.is_file():
                        shutil.unpack_archive(path, place, "zip")
                except (OSError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
                    trouble = f"the zip can't be opened ({error}): "
                top = top_of(Path(place) if path.is_file() else path, tasks)
                verdicts = [check(task.id, root=top, seed=seed) for task in tasks]
            row = [path.stem, sum(verdict.points for verdict in verdicts)]
            for verdict in verdicts:
                score = verdict.score.number if verdict.score else ""
                says = verdict.reason.replace(f" in {top}", "")
                row += [verdict.points, trouble + says, score]
            formula = tuple("=+-@")  # which a spreadsheet would compute
            table.writerow([f"'{c}" if str(c).startswith(formula) else c for c in row])
            file.flush()
            print(f"{path.name}: {row[1]} points", flush=True)
    if skipped := sorted(path.name for path in every - paths):
        print(f"Skipped, neither a folder nor a zip: {', '.join(skipped)}")


def top_of(root: Path, tasks: list[Task]) -> Path:
    """Return the folder from which the tasks' files count: programs that zip add some around it."""
    for task in tasks:
        for path in sorted(root.rglob(task.file)):
            return path.parents[task.file.count("/")].resolve()
    return root.resolve()


if __name__ == "__main__":
    sys.exit(main())
