"""`check("DP-1")` in a cell, and the folder that it grades."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from helpers.clone import need_clone
from helpers.grade.kept import kept_judge
from helpers.grade.limits import Held
from helpers.grade.look import look_at
from helpers.grade.missing import explain_missing_tasks, forget_missing
from helpers.grade.record import remember
from helpers.grade.task import HINTS, ROOT, Task, WorkFailed, all_tasks, load_task
from helpers.grade.verdict import Verdict
from helpers.grade.written import written_html
from helpers.skipped import load_again


def check(task_id: str, hint: int = 0) -> Verdict:
    """Check one task in the repository that contains this notebook; show the result.

    What has passed is remembered (`make progress` shows it), except in the edition with solutions.
    A task that fails gives a verdict and raises nothing, so the notebook goes on.

    Args:
        hint: which hint to show if it failed: 1 is a nudge, 3 nearly the answer, 0 is none.

    Raises:
        TaskError: for a task that doesn't exist.
        ValueError: for a hint that doesn't.
    """
    if hint not in range(HINTS + 1):
        raise ValueError(f"hint must be a number from 1 to {HINTS}, or 0 for none, not {hint!r}")
    root = find_root()
    verdict = _not_begun(load_task(task_id).task, root) or kept_judge().check(task_id, root)
    remember(verdict, root)
    if verdict.passed:
        forget_missing(task_id)
        with suppress(Exception):  # the work is right, whatever it thinks of being loaded twice
            load_again(root / verdict.task.file)
        with suppress(Exception):  # as is what it looks like
            verdict = replace(verdict, written=written_html(verdict.task, root))
    # Which limits hold is news for a teacher; here it's the student's own work and machine.
    return replace(verdict, hint=hint, following=_after(verdict.task), limits=Held())


def _not_begun(task: Task, root: Path) -> Verdict | None:
    """The verdict on a file in which the stub still stands. It takes no process."""
    try:
        look_at(root / task.file, task)
    except WorkFailed as failed:
        if failed.kind == "not done":
            return Verdict(task, failed.kind, failed.sentence)
    return None


def _after(task: Task) -> str:
    """The task that comes after this one, in words."""
    tasks = all_tasks()
    place = [other.id for other in tasks].index(task.id)
    if place + 1 == len(tasks):
        return "that was the last task; make progress shows which ones you have left out"
    then = tasks[place + 1]
    if then.page:
        return f"the next task is {then.id}, {then.title}: see {then.page}"
    if then.number == task.number:
        return f"{then.id}, {then.title}, further down in this lesson"
    return f"read on; the next task is {then.id}, in lesson {then.number}"


def find_root() -> Path:
    """The repository to grade: the first folder, from this one up, that holds tasks and helpers.

    Where there is none, the repository that contains this grader; NotAClone if that is installed.
    """
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / "tasks").is_dir() and (folder / "helpers" / "grade").is_dir():
            return folder
    need_clone()
    return ROOT


explain_missing_tasks()
