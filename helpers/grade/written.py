"""How a task is written: the student's own lines, and one way to write them, in a passed verdict.

The reference is shown to nobody whose work hasn't passed. In the student edition it lies in
tasks/reference.zip; where a teacher has left that out, a pass shows the student's lines alone.
"""

import ast
import textwrap
from collections.abc import Iterable
from html import escape
from pathlib import Path

from helpers.draw.code import code_html, fold_html
from helpers.grade.marks import Region, find_regions, replace_regions
from helpers.grade.record import holds_solution
from helpers.grade.task import Task
from helpers.skipped import definitions, first_line, references

ONE_WAY = "One way to write it"


def written_html(task: Task, root: Path) -> str:
    """Return what a passed verdict shows of the code of a task that is done below `root`."""
    text = (root / task.file).read_text(encoding="utf-8")
    if holds_solution(root, task):
        found = solved_functions(text, find_regions(text, task.file), task.file)
        return fold_html(ONE_WAY, _code(found[task.id]))
    mine = f"<div>Your lines in {escape(task.file)}:</div>{_code(functions_of(text, task))}"
    return mine + one_way(task.id, root)


def one_way(task_id: str, root: Path) -> str:
    """Return the reference of a task of the student edition, folded; nothing if there is none."""
    files = references(root).get(task_id, {})
    return fold_html(ONE_WAY, "".join(map(_code, files.values()))) if files else ""


def functions_of(text: str, task: Task) -> dict[str, str]:
    """Return {function: its source} of a task's functions in a script."""
    nodes = dict(definitions(ast.parse(text)))
    return {name: source_of(text, nodes[name]) for name in task.functions if name in nodes}


def solved_functions(text: str, regions: Iterable[Region], where: str) -> dict[str, dict[str, str]]:
    """Return {task: {function: its source}}: of each solution the function or class around it."""
    nodes = list(definitions(ast.parse(text)))
    found: dict[str, dict[str, str]] = {}
    for region in regions:
        around = [
            (name, node)
            for name, node in nodes
            if node.lineno < region.first and region.last <= node.end_lineno + 1
        ]
        if around:
            name, node = around[-1]  # the innermost
            last = max(node.end_lineno, region.last)
            body = replace_regions(source_of(text, node, last), lambda part: part.body, where)
            found.setdefault(region.task, {})[name] = body
    return found


def source_of(text: str, node: ast.stmt, last: int = 0) -> str:
    """Return the lines of a definition, decorators included, as if it stood at the left edge."""
    lines = text.splitlines()[first_line(node) - 1 : last or node.end_lineno]
    return textwrap.dedent("\n".join(lines))


def without_docstring(code: str) -> str:
    """Return the source of a definition without its docstring, which the task's file has."""
    (node,) = ast.parse(code).body
    lines = code.splitlines()
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1:
        del lines[first.lineno - 1 : first.end_lineno]
    return "\n".join(lines)


def _code(functions: dict[str, str]) -> str:
    pieces = []
    for name, source in functions.items():
        owner = f"# {name.rpartition('.')[0]}\n" if "." in name else ""
        pieces.append(owner + without_docstring(source))
    return code_html("\n\n".join(pieces))
