"""Work in the place of a task's solution: the programs beside this file, by lab."""

import textwrap
from pathlib import Path
from typing import NamedTuple

from helpers.check.marks import body_of, replaced
from helpers.check.task import Task, load_module

HERE = Path(__file__).parent


class Program(NamedTuple):
    """Work in the place of a task's solution.

    work: the code in all its places, or {a piece of the solution: what takes its place}.
    says: words that the verdict must contain; none where the work is right.
    """

    name: str
    work: str | dict[str, str]
    says: str = ""


def programs_of(task: Task) -> list[Program]:
    """The programs for a task; a lab whose mutants are all there is has no file.

    A file's PROGRAMS are {task: {name: work, or (wrong work, what must be said of it)}}.
    """
    lab = task.id.rpartition("-")[0].lower().replace("-", "_")
    path = HERE / "programs" / f"{lab}.py"
    found = load_module(path, f"programs_{lab}").PROGRAMS.get(task.id, {}) if path.exists() else {}
    return [Program(n, *(w if isinstance(w, tuple) else [w])) for n, w in found.items()]


def planted(task: Task, work: str | dict[str, str], text: str) -> str:
    """Return the text of the task's file with other work in the place of its solution.

    work: as in `Program`. Raises ValueError where the solution lacks a piece that would change.
    """
    changes = {} if isinstance(work, str) else work
    solution = body_of(text, task.id)
    for old in changes:
        if old not in solution:
            raise ValueError(f"the solution of {task.id} has no {old!r}")

    def new(task_id: str, body: str) -> str:
        mark = "SOLUTION"  # others' may still be asked for: their marks stay
        if task_id == task.id:
            body = work if isinstance(work, str) else body
            for old, changed in changes.items():
                body = body.replace(old, changed)
        body = textwrap.dedent(body).strip("\n")
        return f"# BEGIN {mark} {task_id}\n{body}\n# END {mark}"

    return replaced(text, new)
