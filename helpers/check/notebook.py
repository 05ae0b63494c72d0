"""In a notebook: a cell that needs a task which isn't done ends in one calm line.

The stub of a task names it where it's called. Such a cell counts as done, so "Run All" goes on; a
later cell that lacks a name which the cell would have set ends in the same line.
"""

import ast
import re
import sys
from html import escape
from typing import Any

STUB = re.compile(r"\bTask ([A-Z][A-Z0-9-]*): ")
NAME = re.compile(r"name '(\w+)' is not defined")
KEPT = "lab_undone"  # on the shell: {a name that a stopped cell would have set: the task}


def the_shell() -> Any:
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def explain_undone_tasks() -> None:
    """Look at every error of this notebook from now on. Does nothing outside of one."""
    shell = the_shell()
    if shell is not None and not hasattr(shell, KEPT):
        setattr(shell, KEPT, {})
        shell.set_custom_exc((Exception,), show)
        shell.events.register("post_run_cell", after)


def no_longer_undone(task_id: str) -> None:
    """The task has passed, or was solved: cells that lack a name say so as Python does."""
    owed = getattr(the_shell(), KEPT, {})
    for name in [name for name, task in owed.items() if task == task_id]:
        del owed[name]


def show(shell, kind, error, trace, tb_offset=None) -> None:
    """Show an error: the line where a task is behind it, else as always."""
    from IPython.display import display

    from helpers.check.task import load_task, task_ids

    found, name = STUB.search(str(error)), NAME.search(str(error))
    task_id = found[1] if found else getattr(shell, KEPT).get(name[1], "") if name else ""
    if task_id not in task_ids():
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        return
    shell.lab_stopped_by, task = task_id, load_task(task_id)
    text = (
        f"This cell needs task {task_id}: {task.title}. Write {task.calls} in {task.file} and "
        f'run the cell again, or go on with the lab\'s own: solve("{task_id}")'
    )
    box = "border: 1px solid #555; border-left: 6px solid #555; padding: 8px 14px"
    html = f'<div style="{box}">{escape(text)}</div>'
    display({"text/plain": text, "text/html": html}, raw=True)


def after(result) -> None:
    """Count a cell that was stopped by a task as done, and unset what it would have set."""
    shell = the_shell()
    task_id, shell.lab_stopped_by = getattr(shell, "lab_stopped_by", ""), ""
    if not task_id:
        return
    tree = ast.parse(shell.transform_cell(result.info.raw_cell))
    result.error_in_exec = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            shell.user_ns.pop(node.id, None)
            getattr(shell, KEPT)[node.id] = task_id
