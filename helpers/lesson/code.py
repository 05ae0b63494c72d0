"""`show_code`: the lines that matter, from the file, so that a lesson never shows old ones.
`show_diff`: what changed from one script to the next, which is often the lesson itself."""

import ast
import difflib
import re
import textwrap
from html import escape
from pathlib import Path

from helpers.check.marks import definitions, lines_of, regions, replaced
from helpers.check.task import lab, solved
from helpers.check.verdict import ONE_WAY
from helpers.draw.code import code_html, fold_html
from helpers.draw.style import BLUE, ORANGE, see_through
from helpers.lesson.shown import Shown, find_file, put
from helpers.record import noted

STUB = re.compile(r'raise NotImplementedError\(\s*"Task ([A-Z0-9-]+): [^\n]*\n[^\n]*\n\s*\)')
YOURS = "...  # task {}: yours"
# Thin enough to read the text on a light or a dark page; each line keeps its mark besides.
COLORS = {"+": see_through(BLUE, 0.2), "-": see_through(ORANGE, 0.25)}
DOCUMENTED = ast.Module | ast.FunctionDef | ast.ClassDef


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


def show_diff(before: str | Path, after: str | Path, context: int = 3) -> None:
    """Show the lines in which the script `after` differs from the script `before`.

    Each line has its mark (+ new, - gone) besides its color, and `context` unchanged lines stand
    around every change. Docstrings, imports and flags are left out, because they bury the lines
    that matter; the title says so. In place of the solution of a task there is a comment.

    Raises:
        FileNotFoundError: there is no such script, seen from here or from the top of the project.
    """
    put(diff(before, after, context))


def diff(before: str | Path, after: str | Path, context: int = 3) -> Shown:
    """Return what `show_diff` shows."""
    old, new = (_bare(_yours(find_file(path).read_text("utf-8"))) for path in (before, after))
    names = [Path(path).as_posix() for path in (before, after)]
    # Without the two lines that name the files, as the title does, and without line numbers, which
    # would count only what was not left out.
    lines = [*difflib.unified_diff(old, new, n=context, lineterm="")][2:]
    lines = ["@@" if line.startswith("@@") else line for line in lines]
    if not lines:
        same = f"{names[0]} and {names[1]} are the same."
        return Shown(f"<p>{escape(same)}</p>", same)
    gone, come = (sum(line.startswith(mark) for line in lines) for mark in "-+")
    title = f"From {names[0]} to {names[1]}: {come} lines new (+), {gone} lines gone (-)"
    title += "; docstrings, imports and flags are left out"
    colors = (COLORS.get(line[0], "transparent") for line in lines)
    rows = "\n".join(
        f'<span style="background-color: {color}">{escape(line)}</span>'
        for color, line in zip(colors, lines, strict=True)
    )
    html = f'<p>{escape(title)}</p><pre style="font-family: monospace">{rows}</pre>'
    return Shown(html, "\n".join([title, *lines]))


def _bare(text: str) -> list[str]:
    """Return the lines of a script without docstrings, imports, flags and doubled blank lines."""
    lines: list[str | None] = list(text.splitlines())
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            hidden = node.body[0]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            hidden = node
        else:
            hidden = None
        if getattr(node, "name", "") == "read_flags":
            hidden = node
        if hidden:
            lines[hidden.lineno - 1 : hidden.end_lineno] = [None] * (
                hidden.end_lineno - hidden.lineno + 1
            )
    left = [line for line in lines if line is not None]
    return [line for line, above in zip(left, ["", *left], strict=False) if line or above]
