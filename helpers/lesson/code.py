"""`show_code`: the lines that matter, from the file, so that a lesson never shows old ones."""

import ast
import re
import textwrap
from html import escape
from pathlib import Path

from helpers.check.marks import regions, replaced
from helpers.check.solving import definitions, lines_of
from helpers.check.task import lab, solved
from helpers.check.verdict import ONE_WAY
from helpers.draw.code import code_html, fold_html
from helpers.lesson.shown import Shown, find_file, put
from helpers.record import noted

STUB = re.compile(r'raise NotImplementedError\(\s*"Task ([A-Z0-9-]+): [^\n]*\n[^\n]*\n\s*\)')
YOURS = "...  # task {}: yours"


def show_code(path: str | Path, name: str = "", start: str = "", end: str = "") -> None:
    """Show lines of a script as they stand in it.

    In the place of a task that isn't done stands a comment. One way to write it is under a fold:
    with the solutions from the start, in a student's copy once its check has passed.

    Args:
        path: of the script, from the current folder or from the top of the project.
        name: of a function, a class or a method, such as "Ring.pass_on"; it's shown without its
            docstring. Without a name it's the whole script.
        start, end: how the first and the last line begin, where only some of them matter.

    Raises:
        FileNotFoundError: there is no such script.
        ValueError: it has no such function, or no such line.
    """
    put(code(path, name, start, end))


def code(path: str | Path, name: str = "", start: str = "", end: str = "") -> Shown:
    """Return what `show_code` shows."""
    file, where = find_file(path).resolve(), Path(path).as_posix()
    text = file.read_text(encoding="utf-8")
    asked = where, name, start, end
    lines = _lines(_yours(text), *asked)
    html = f"<div>{escape(where)}{escape(f', {name}') if name else ''}</div>{code_html(lines)}"
    solution = solved() / file.relative_to(lab()) if lab() in file.parents else file
    marked = solution.read_text(encoding="utf-8") if solution.is_file() else text
    tasks = {region["task"] for region in regions(marked)}
    there, passed = _lines(_yours(marked), *asked) if tasks else "", noted("tasks")
    tasks = [task for task in tasks if YOURS.format(task) in there]
    if tasks and (regions(text) or all(passed.get(t, {}).get("passed") for t in tasks)):
        one_way = _lines(replaced(marked, lambda _, body: body), *asked)
        html += fold_html(ONE_WAY, code_html(one_way))
    return Shown(html, f"{where}\n{lines}")


def _yours(text: str) -> str:
    """Return a script with a comment in the place of each solution, and of each stub."""
    text = replaced(text, lambda task, _: YOURS.format(task))
    return STUB.sub(lambda found: YOURS.format(found[1]), text)


def _lines(text: str, where: str, name: str, start: str, end: str) -> str:
    """Return the lines that are asked for."""
    if name:
        nodes = definitions(ast.parse(text))
        if name not in nodes:
            raise ValueError(f"{where} has no {name!r}: it has {', '.join(nodes) or 'nothing'}")
        node, lines = nodes[name], text.splitlines()
        documented = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
        hidden = range(node.body[0].lineno - 1, node.body[0].end_lineno) if documented else ()
        shown = range(len(lines))[lines_of(node)]
        text = textwrap.dedent("\n".join(lines[n] for n in shown if n not in hidden))
    lines = text.strip("\n").splitlines()
    first, last = _line(lines, start, where, 0), len(lines) - 1
    if end:
        last = _line(lines, end, where, first)
    return textwrap.dedent("\n".join(lines[first : last + 1]))


def _line(lines: list[str], begins: str, where: str, after: int) -> int:
    """Return the number of the first line from `after` on that begins so."""
    for number, line in enumerate(lines[after:], after):
        if line.strip().startswith(begins):
            return number
    raise ValueError(f"no line of {where} begins with {begins!r}, where it's looked for")
