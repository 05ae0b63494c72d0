"""A task as Markdown, for the page of all tasks and for the lesson that it belongs to."""

import re
from html import escape

from helpers.grade.task import Task


def card(task: Task, up: str = "../") -> str:
    """What to do and where, the points, the minutes, and each hint behind a line to click on.

    up: the way from where it will stand to the top of the repository.
    """
    title = task.title[0].upper() + task.title[1:]
    points = "1 point" if task.points == 1 else f"{task.points} points"
    return (
        f"{title}. Write {task.listed('`{}`')} in [{task.file}]({up}{task.file}). "
        f"{points}, about {task.minutes} minutes.\n\n{hints(task)}"
    )


def hints(task: Task) -> str:
    """The hints, from a nudge to nearly the answer, each closed until it is wanted."""
    return "\n".join(
        f"<details><summary>Hint {number} for {task.id}</summary>{_html(hint)}</details>"
        for number, hint in enumerate(task.hints, 1)
    )


def _html(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
