"""`check("DP-1")` in a cell, and the folder that it grades."""

from dataclasses import replace
from pathlib import Path

from helpers.grade.kept import kept_judge
from helpers.grade.missing import explain_missing_tasks, forget_missing
from helpers.grade.record import remember
from helpers.grade.task import HINTS, ROOT
from helpers.grade.verdict import Verdict


def check(task_id: str, hint: int = 1) -> Verdict:
    """Check one task in the repository that contains this notebook; show the result.

    hint: which hint to show if it failed: 1 is a nudge, 3 nearly the answer.
    What has passed is remembered (`make progress` shows it), except in the edition with solutions.
    A task that fails gives a verdict and raises nothing, so the notebook goes on. Raises
    TaskError for a task that does not exist, ValueError for a hint that does not.
    """
    if hint not in range(1, HINTS + 1):
        raise ValueError(f"hint must be a number from 1 to {HINTS}, not {hint!r}")
    root = find_root()
    verdict = kept_judge().check(task_id, root)
    remember(verdict, root=root)
    if verdict.passed:
        forget_missing(task_id)
    return replace(verdict, hint=hint)


def find_root(start: Path | None = None) -> Path:
    """The repository to grade: the first folder, from `start` up, that holds tasks and helpers.

    Where there is none, the repository that contains this grader.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "tasks").is_dir() and (folder / "helpers" / "grade").is_dir():
            return folder
    return ROOT


explain_missing_tasks()
