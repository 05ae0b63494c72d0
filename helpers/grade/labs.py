"""Labs: tasks that belong together, by the letters of their ids or by their lesson."""

import re
from collections.abc import Iterable
from pathlib import Path

from helpers.grade.task import ROOT, Task, TaskError, load_task, task_ids


def lab_of(task_id: str) -> str:
    """The lab of a task: "PP" of "PP-2", "DP-PP" of "DP-PP-1", "PZ" of "PZ-P0"."""
    return task_id.rpartition("-")[0] or task_id


def all_tasks(folder: Path | None = None) -> list[Task]:
    """Every task, in the order of the lessons, and within one as the lesson asks for them."""
    tasks = [load_task(task_id, folder).task for task_id in task_ids(folder)]
    places = asked_in_lessons((folder or ROOT / "tasks").parent)
    last = len(places)  # a task that no lesson asks for; these stay in the order of their ids
    return sorted(tasks, key=lambda task: (task.notebook, places.get(task.id, last)))


def asked_in_lessons(root: Path = ROOT) -> dict[str, int]:
    """The ids that lessons check in a cell, and the place of each: 0 for the first."""
    ids: dict[str, None] = {}
    for path in sorted((root / "notebooks" / "source").glob("[0-9][0-9]_*.py")):
        text = path.read_text(encoding="utf-8")
        ids |= dict.fromkeys(re.findall(r'^check\("([^"]+)"\)', text, re.MULTILINE))
    return {task_id: place for place, task_id in enumerate(ids)}


def tasks_of(names: Iterable[str], folder: Path | None = None) -> list[str]:
    """The ids that names stand for: a task ("PP-2"), a lab ("PP") or a lesson ("06").

    Those of one name come in the order of `all_tasks`. Raises TaskError for a name that is none of
    these.
    """
    tasks = {task.id: task for task in all_tasks(folder)}
    found: dict[str, None] = {}
    for name in names:
        ids = [
            task_id
            for task_id, task in tasks.items()
            if name.upper() in (task_id, lab_of(task_id)) or name == task.notebook
        ]
        if not ids:
            labs = ", ".join(dict.fromkeys(map(lab_of, tasks)))
            raise TaskError(
                f"there is no task {name!r}: the tasks are {', '.join(tasks) or 'none'} (one file "
                f"each in {folder or ROOT / 'tasks'}); a lab ({labs}) or the number of a lesson "
                "names several"
            )
        found |= dict.fromkeys(ids)
    return list(found)
