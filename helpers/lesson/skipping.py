"""`skip`: in this kernel the reference takes the place of a task that isn't done."""

from helpers import skipped
from helpers.grade.missing import Card, forget_missing
from helpers.grade.notebook import find_root
from helpers.grade.record import holds_solution, note_skipped
from helpers.grade.task import load_task
from helpers.lesson.shown import put
from helpers.ranks.pool import the_shell


def skip(task_id: str) -> None:
    """Go on without a task: until this kernel restarts, the reference takes its place.

    That holds in this notebook, in the ranks of `launch` and `%%ranks`, and in scripts and
    launchers that a cell starts. It earns nothing, and `check` still checks your own work.

    Raises:
        TaskError: for a task that doesn't exist.
    """
    task = load_task(task_id).task
    if holds_solution(find_root(), task):
        text = f"{task.file} holds the solution of {task_id}, so there is nothing to skip."
    elif task_id not in skipped.references():
        text = (
            f"{task_id} can't be skipped: this edition comes without references. Write "
            f"{task.listed('{}()')} in {task.file}, or ask your teacher."
        )
    else:
        skipped.skip_from_now(task_id)
        forget_missing(task_id)
        note_skipped(task_id)
        text = (
            f"{task_id} is skipped until this kernel restarts: the reference takes the place of "
            f"{task.listed('{}()')}. Run the cells again that needed it. Skipped work earns no "
            f'points; check("{task_id}") still looks at your own.'
        )
    put(Card(text))


def offer_skip() -> None:
    """Put `skip` among the names of a notebook: a cell that lacks a task names it."""
    if shell := the_shell():
        shell.user_ns.setdefault("skip", skip)


offer_skip()
