"""`python -m helpers.grade.progress`: the way through the lessons, and what is done of it."""

import argparse
import json
import sys

from helpers.grade.notebook import find_root
from helpers.grade.record import holds_solution, read_record
from helpers.grade.task import Task, all_tasks
from helpers.plain_errors import plain_errors
from helpers.record import progress_file, read_all
from helpers.syllabus import LESSONS

BAR = 20


def overview(tasks: list[Task], record: dict[str, dict], noted: dict | None = None) -> str:
    """The lessons in order, each with its tasks; what is done, and what comes next.

    noted: what else is remembered, by kind: predictions, numbers, skipped tasks.
    """
    noted = noted or {}
    predictions, numbers, skipped = (
        noted.get(kind, {}) for kind in ("predictions", "numbers", "skipped")
    )
    done = {t.id for t in tasks if record.get(t.id, {}).get("passed")}
    lines = []
    for lesson in LESSONS:
        here = [task for task in tasks if task.number == lesson.number]
        lines.append(f"{lesson.number}  {lesson.title}" + _score(lesson.name, predictions, numbers))
        for task in here:
            facts = record.get(task.id, {"tries": 0, "passed": None})
            tries = f", {facts['tries']} tries" if facts["tries"] > 1 else ""
            state = f"done on {facts['passed']}{tries}" if task.id in done else (
                f"begun{tries}" if facts["tries"] else f"about {task.minutes} min"
            )  # fmt: skip
            if task.id in skipped and task.id not in done:
                state += f", skipped on {skipped[task.id].get('on')}"
            mark = "[x]" if task.id in done else "[ ]"
            lines.append(f"    {mark} {task.id:8} {task.points:2d} points  {task.title} ({state})")
    points, of = sum(t.points for t in tasks if t.id in done), sum(t.points for t in tasks)
    filled = round(BAR * points / of) if of else 0
    minutes = sum(task.minutes for task in tasks if task.id not in done)
    lines += ["", f"{'#' * filled}{'.' * (BAR - filled)}  {points} of {of} points, "
              f"{len(done)} of {len(tasks)} tasks"]  # fmt: skip
    if predictions:
        lines.append(_said("predictions", predictions))
    if numbers:
        lines.append(_said("number questions", numbers))
    following = next((task for task in tasks if task.id not in done), None)
    if following:
        lines.append(
            f"next: lesson {following.number}, task {following.id} ({following.title}), about "
            f"{following.minutes} minutes; what is left takes about {minutes / 60:.0f} hours"
        )
    else:
        lines.append("everything is done. What will you build?")
    return "\n".join(lines)


def _score(lesson: str, predictions: dict, numbers: dict) -> str:
    """How a lesson's questions went, behind its title."""
    mine = {
        word: {key: facts for key, facts in found.items() if key.startswith(f"{lesson}-")}
        for word, found in (("predictions", predictions), ("numbers", numbers))
    }
    said = [_said(word, found) for word, found in mine.items() if found]
    return f"  ({'; '.join(said)})" if said else ""


def _said(word: str, found: dict[str, dict]) -> str:
    """ "predictions: 2 of 3 right" """
    return f"{word}: {sum(bool(f.get('right')) for f in found.values())} of {len(found)} right"


def main(arguments: list[str] | None = None) -> int:
    """Show the way and the record. 0."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.progress", description="Show what is done, and what is next."
    )
    parser.add_argument("--json", action="store_true", help="print the record as JSON")
    options = parser.parse_args(arguments)
    path = progress_file()
    record, noted = read_record(path), read_all(path)
    if options.json:
        print(json.dumps(noted | {"tasks": record}, indent=1))
        return 0
    tasks = all_tasks()
    print(overview(tasks, record, noted))
    print(f"kept in {path}" if path else "no record is kept (LAB_PROGRESS=off)")
    root = find_root()
    if any(holds_solution(root, task) for task in tasks):
        print(
            "This folder holds the solutions: a task that passes with its solution in its file is "
            "not counted. `make student` writes a folder without them, to work in"
        )
    return 0


if __name__ == "__main__":
    with plain_errors():
        sys.exit(main())
