"""Work in the place of a task's solution: the programs beside this file, by lab."""

from pathlib import Path
from typing import NamedTuple

from helpers.grade.marks import find_regions, replace_regions
from helpers.grade.task import Task, lab_of, load_module

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
    lab = lab_of(task.id).lower().replace("-", "_")
    path = HERE / "programs" / f"{lab}.py"
    found = load_module(path, f"programs_{lab}").PROGRAMS.get(task.id, {}) if path.exists() else {}
    return [Program(n, *(w if isinstance(w, tuple) else [w])) for n, w in found.items()]


def planted(task: Task, work: str | dict[str, str], text: str) -> str:
    """Return the text of the task's file with other work in the place of its solution.

    work: as in `Program`. Raises ValueError where the solution lacks a piece that would change.
    """
    changes = {} if isinstance(work, str) else work
    solution = "\n".join(r.body for r in find_regions(text, task.file) if r.task == task.id)
    for old in changes:
        if old not in solution:
            raise ValueError(f"the solution of {task.id} has no {old!r}")

    def new(region):
        if region.task != task.id:  # which may still be asked for: the marks stay
            mark = "SOLUTION"
            return f"# BEGIN {mark} {region.task}\n{region.body}\n# END {mark}"
        body = work if isinstance(work, str) else region.body
        for old, changed in changes.items():
            body = body.replace(old, changed)
        return body

    return replace_regions(text, new, task.file)
