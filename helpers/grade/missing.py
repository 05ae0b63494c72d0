"""In a notebook: a cell that needs a task which isn't done says so in a sentence, and no more.

The stub of a task names it where it's called. Such a cell counts as done, so "Run All" goes on.
What the cell would have set is unset, and a later cell that lacks it says the same sentence.
"""

import ast
import re
from dataclasses import dataclass, field
from html import escape

from helpers import skipped
from helpers.draw.style import DARK_GRAY
from helpers.grade.task import Task, TaskError, load_task
from helpers.ranks.pool import the_shell

_TASK = re.compile(r"\bTask ([A-Z][A-Z0-9-]*): ")
_NAME = re.compile(r"name '(\w+)' is not defined")
KEPT = "lab_undone_tasks"  # on the shell: what is undone in this notebook


@dataclass
class Undone:
    """What cells of a notebook lack.

    tasks: those that aren't done. owed: names that a stopped cell would have set, with its task.
    calm: whether the running cell was stopped by an undone task.
    """

    tasks: set[str] = field(default_factory=set)
    owed: dict[str, str] = field(default_factory=dict)
    calm: str = ""


def explain_missing_tasks() -> None:
    """From now on every error of this notebook is looked at. Does nothing outside of a notebook."""
    shell = the_shell()
    if shell is not None and not hasattr(shell, KEPT):
        setattr(shell, KEPT, Undone())
        shell.set_custom_exc((Exception,), _show)
        shell.events.register("post_run_cell", _after)


def forget_missing(task_id: str) -> None:
    """The task has passed, or is skipped: it is missing no more."""
    if undone := getattr(the_shell(), KEPT, None):
        undone.tasks.discard(task_id)


def task_behind(error: BaseException, undone: Undone) -> str:
    """The id of the task that `error` comes from, or an empty string."""
    if found := _TASK.search(str(error)):
        undone.tasks.add(found[1])
        return found[1]
    name = _NAME.search(str(error))
    return undone.owed.get(name[1], "") if name else ""


def names_set(source: str) -> set[str]:
    """The names that a cell sets at its top level; not what it imports."""
    found = set()
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found.add(statement.name)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found


def sentence(task: Task, undone: bool, can_skip: bool) -> str:
    """What a cell says that needs a task."""
    if not undone:
        return (
            f"This cell needs a name from a cell above, which stopped because task {task.id} "
            "wasn't done. Run that cell again, then this one."
        )
    words = (
        f"This cell needs task {task.id} of lesson {task.number}: {task.title} (about "
        f"{task.minutes} minutes). Write {task.listed('{}()')} in {task.file}, then run this cell "
        "again"
    )
    return f'{words}; or run skip("{task.id}") to go on without it.' if can_skip else f"{words}."


class Card:
    """The sentence in a box."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        line = f"solid {DARK_GRAY}"
        box = f"border: 1px {line}; border-left: 6px {line}; padding: 8px 14px"
        return f'<div style="{box}">{escape(self.text)}</div>'


def _show(shell, kind, error, trace, tb_offset=None) -> None:
    """What IPython calls for an error: the sentence where a task is behind it, else as always."""
    undone = getattr(shell, KEPT)
    task_id = task_behind(error, undone)
    try:
        task = load_task(task_id).task if task_id else None
    except TaskError:
        task = None
    if task is None:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        return
    from IPython.display import display

    undone.calm = task_id
    can_skip = task_id in skipped.references()
    display(Card(sentence(task, task_id in undone.tasks, can_skip)))


def _after(result) -> None:
    """What IPython calls after a cell: one that was stopped calmly counts as done."""
    shell = the_shell()
    undone = getattr(shell, KEPT)
    task_id, undone.calm = undone.calm, ""
    try:
        names = names_set(shell.transform_cell(result.info.raw_cell))
    except (SyntaxError, AttributeError):
        names = set()
    if not task_id:
        for name in names & undone.owed.keys() & shell.user_ns.keys():
            del undone.owed[name]
        return
    result.error_in_exec = None
    for name in names:
        shell.user_ns.pop(name, None)
        undone.owed[name] = task_id
