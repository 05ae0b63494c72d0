"""In a notebook: a cell that needs a task which isn't done ends in one calm line; and `solve`.

The stub of a task names it where it's called. Such a cell counts as done, so "Run All" goes on; a
later cell that lacks a name which the cell would have set ends in the same line.
"""

import ast
import re
import sys
import types
from html import escape
from itertools import count
from pathlib import Path

from helpers.check.marks import around, definitions, lines_of, replaced
from helpers.check.task import Task, lab, load_task, solution_text, task_ids
from helpers.ranks.pool import the_shell

STUB = re.compile(r"\bTask ([A-Z][A-Z0-9-]*): ")
NAME = re.compile(r"name '(\w+)' is not defined")
OWED: dict[str, str] = {}  # {a name that a stopped cell would have set: the task}
STOPPED: list[str] = []  # the task that the running cell has been stopped by


def show(shell, kind, error, trace, tb_offset=None) -> None:
    """Show an error: the line where a task is behind it, else as always."""
    from IPython.display import display

    found, name = STUB.search(str(error)), NAME.search(str(error))
    task_id = found[1] if found else OWED.get(name[1], "") if name else ""
    if task_id not in task_ids():
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        return
    STOPPED.append(task_id)
    task = load_task(task_id)
    text = (
        f"This cell needs task {task_id}: {task.title}. Write {task.calls} in {task.file} and "
        f'run the cell again, or go on with the lab\'s own: solve("{task_id}")'
    )
    box = "border: 1px solid #555; border-left: 6px solid #555; padding: 8px 14px"
    html = f'<div style="{box}">{escape(text)}</div>'
    display({"text/plain": text, "text/html": html}, raw=True)


def after(result) -> None:
    """Count a cell that was stopped by a task as done, and unset what it would have set."""
    if not STOPPED:
        return
    shell, task_id, result.error_in_exec = the_shell(), STOPPED[-1], None
    STOPPED.clear()
    for node in ast.walk(ast.parse(shell.transform_cell(result.info.raw_cell))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            shell.user_ns.pop(node.id, None)
            OWED[node.id] = task_id


def solve(task_id: str) -> None:
    """Write the solution into the script, in place of your function; yours is kept beside it.

    What this kernel has imported from the script is the solution from now on, too. It isn't
    counted as done: to write the function yourself after all, take your file back.
    """
    task = load_task(task_id)
    path, mine = lab() / task.file, text_of(task)
    if holds_solution(task, mine):
        print(f"{task.file} holds the lab's own {task.calls} already.")
        return
    numbers = (path.with_suffix(f".mine{number}.py") for number in count(1))
    kept = next(other for other in numbers if not other.exists())
    kept.write_bytes(path.read_bytes() if path.is_file() else b"")
    path.write_text(with_solution(task, mine), "utf-8")
    take_anew(task)
    print(f"{task.file} has the solution of {task_id} now; what you had is in {kept.name}.")


def text_of(task: Task) -> str:
    path = lab() / task.file
    return path.read_text("utf-8", "replace") if path.is_file() else ""


def holds_solution(task: Task, text: str) -> bool:
    """Return whether a script has the lab's own solution, so that it's nobody's work."""
    return f"# BEGIN SOLUTION {task.id}\n" in text or with_solution(task, text) == text


def with_solution(task: Task, mine: str) -> str:
    """Return the text of a student's script with the solution in it; where that text can't be
    read, or lacks the function, the script as it was, with stubs in the place of other tasks."""
    marked = solution_text(task)
    text = replaced(marked, lambda one, body: body if one == task.id else load_task(one).stub)
    ours = definitions(ast.parse(text))
    try:
        theirs = definitions(ast.parse(mine))
    except (SyntaxError, ValueError):
        return text
    names = around(marked, task.id)
    if not theirs.keys() >= {*names}:
        return text
    lines, solution = mine.splitlines(keepends=True), text.splitlines(keepends=True)
    for name in sorted(names, key=lambda name: -theirs[name].lineno):
        lines[lines_of(theirs[name])] = solution[lines_of(ours[name])]
    return "".join(lines)


def take_anew(task: Task) -> None:
    """Let what the script of a task holds by now take the place of what this kernel, its notebook
    and its modules have imported from it; cells that lack a name say so as Python does."""
    for name in [name for name, task_id in OWED.items() if task_id == task.id]:
        del OWED[name]
    path = (lab() / task.file).resolve()
    for module in list(sys.modules.values()):
        file = Path(getattr(module, "__file__", None) or "/")
        if module.__name__ == "__main__" or file.resolve() != path:
            continue
        old = {  # a proxy may compute when it's asked for more than its type
            id(value): value
            for value in vars(module).values()
            if issubclass(type(value), type | types.FunctionType)
            and value.__module__ == module.__name__
        }
        try:
            text = path.read_text("utf-8")
            exec(compile(text, file, "exec", dont_inherit=True), vars(module))
        except Exception as error:  # it's right, whatever it does when it is loaded twice
            print(f"{path.name} can't be loaded again ({error}): restart the kernel to use it.")
        places = [vars(each) for each in list(sys.modules.values()) if each is not module]
        for place in [*places, getattr(the_shell(), "user_ns", {})]:
            for name in [name for name, value in place.items() if id(value) in old]:
                place[name] = getattr(module, old[id(place[name])].__name__, place[name])


if shell := the_shell():  # in a notebook, from its first check on
    shell.set_custom_exc((Exception,), show)
    shell.events.register("post_run_cell", after)
