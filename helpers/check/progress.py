"""What somebody has done of the lessons, and what comes next; the record is `helpers.record`."""

import datetime

from helpers.check.task import all_tasks
from helpers.record import note, noted, progress_file, read_all
from helpers.syllabus import LESSONS

BAR = 20


def note_check(task_id: str, kind: str) -> None:
    """Count a try; what has passed stays passed."""
    if kind not in ("to do", "no file", "check"):
        known = noted("tasks").get(task_id, {})
        today = datetime.datetime.now().astimezone().date().isoformat()
        passed = known.get("passed") or (today if kind == "pass" else None)
        note("tasks", task_id, {"tries": known.get("tries", 0) + 1, "passed": passed})


def overview() -> str:
    """Return the lessons in order, each with its tasks; what is done, and what comes next."""
    tasks, record, lines = all_tasks(), read_all(), []
    known = record.get("tasks", {})
    left = [task for task in tasks if not known.get(task.id, {}).get("passed")]
    for lesson in LESSONS:
        lines.append(f"{lesson.number}  {lesson.title}{_questions(record, f'{lesson.name}-')}")
        for task in (task for task in tasks if task.number == lesson.number):
            state, facts = f"about {task.minutes} min", known.get(task.id)
            if facts:
                begun = f"done on {facts['passed']}" if facts.get("passed") else "begun"
                state = f"{begun}, tries: {facts.get('tries', 0)}"
            mark = " " if task in left else "x"
            lines.append(f"    [{mark}] {task.id:8} {task.points:2} points  {task.title} ({state})")
    of = sum(task.points for task in tasks)
    points, done = of - sum(task.points for task in left), len(tasks) - len(left)
    bar = f"{'#' * round(BAR * points / of):.<{BAR}}"
    said = f"{bar}  {points} of {of} points, {done} of {len(tasks)} tasks{_questions(record)}"
    after = "everything is done. What will you build?"
    if left:
        hours, task = sum(task.minutes for task in left) / 60, left[0]
        after = f"next: lesson {task.number}, task {task.id} ({task.title}), about {task.minutes} "
        after += f"minutes; what is left takes about {hours:.0f} hours"
    kept = f"kept in {progress_file() or 'no file (LAB_PROGRESS=off)'}"
    return "\n".join([*lines, "", said, after, kept])


def _questions(record: dict, begin: str = "") -> str:
    """How the questions went whose names begin so: "  (predictions: 2 of 3 right)"."""
    said = []
    for kind in ("predictions", "numbers"):
        facts = [one for key, one in record.get(kind, {}).items() if key.startswith(begin)]
        if facts:
            said.append(f"{kind}: {sum(bool(f.get('right')) for f in facts)} of {len(facts)} right")
    return f"  ({'; '.join(said)})" if said else ""
