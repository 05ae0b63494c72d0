"""A task as Markdown: where to write it and its hints, for a lesson and the page of all tasks."""

import re
from html import escape

from helpers.grade.task import Task


def card(task: Task, up: str = "../") -> str:
    """Where to write it, and each hint behind a line to click on.

    up: the way from where it will stand to the top of the repository.
    """
    return f"{task.listed('`{}`')} in [{task.file}]({up}{task.file})\n\n{hints(task)}"


def hints(task: Task) -> str:
    """The hints, from a nudge to nearly the answer, each closed until it is wanted."""
    return "\n".join(
        f"<details><summary>Hint {number} for {task.id}</summary>{_html(hint)}</details>"
        for number, hint in enumerate(task.hints, 1)
    )


def _html(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
