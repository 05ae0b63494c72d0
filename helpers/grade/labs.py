"""Labs: tasks that belong together, by the letters of their ids or by their lesson."""

from collections.abc import Iterable
from pathlib import Path

from helpers.grade.task import ROOT, Task, TaskError, load_task, task_ids


def lab_of(task_id: str) -> str:
    """The lab of a task: "PP" of "PP-2", "DP-PP" of "DP-PP-1", "PZ" of "PZ-P0"."""
    return task_id.rpartition("-")[0] or task_id


def all_tasks(folder: Path | None = None) -> list[Task]:
    """Every task, in the order of the lessons, and within one in the order of the ids."""
    tasks = [load_task(task_id, folder).task for task_id in task_ids(folder)]
    return sorted(tasks, key=lambda task: task.notebook)


def tasks_of(names: Iterable[str], folder: Path | None = None) -> list[str]:
    """The ids that names stand for: a task ("PP-2"), a lab ("PP") or a lesson ("06").

    Raises TaskError for a name that is none of these.
    """
    tasks = {task_id: load_task(task_id, folder).task for task_id in task_ids(folder)}
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
