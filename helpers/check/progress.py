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
    done = [task for task in tasks if known.get(task.id, {}).get("passed")]
    for lesson in LESSONS:
        lines.append(f"{lesson.number}  {lesson.title}{_questions(record, f'{lesson.name}-')}")
        for task in (task for task in tasks if task.number == lesson.number):
            facts = known.get(task.id, {})
            tries = f"tries: {facts.get('tries', 0)}"
            state = f"begun, {tries}" if facts else f"about {task.minutes} min"
            if task in done:
                state = f"done on {facts['passed']}, {tries}"
            mark = "x" if task in done else " "
            lines.append(f"    [{mark}] {task.id:8} {task.points:2} points  {task.title} ({state})")
    points, of = (sum(task.points for task in some) for some in (done, tasks))
    filled = round(BAR * points / of)
    lines += ["", f"{'#' * filled}{'.' * (BAR - filled)}  {points} of {of} points, "
              f"{len(done)} of {len(tasks)} tasks{_questions(record)}"]  # fmt: skip
    left = [task for task in tasks if task not in done]
    hours = sum(task.minutes for task in left) / 60
    lines.append(
        f"next: lesson {left[0].number}, task {left[0].id} ({left[0].title}), about "
        f"{left[0].minutes} minutes; what is left takes about {hours:.0f} hours"
        if left
        else "everything is done. What will you build?"
    )
    lines.append(f"kept in {progress_file() or 'no file (LAB_PROGRESS=off)'}")
    return "\n".join(lines)


def _questions(record: dict, begin: str = "") -> str:
    """How the questions went whose names begin so: "  (predictions: 2 of 3 right)"."""
    said = []
    for kind in ("predictions", "numbers"):
        facts = [one for key, one in record.get(kind, {}).items() if key.startswith(begin)]
        if facts:
            said.append(f"{kind}: {sum(bool(f.get('right')) for f in facts)} of {len(facts)} right")
    return f"  ({'; '.join(said)})" if said else ""
