"""`show_code`: the lines that matter, from the file, so that a lesson never shows old ones."""

import ast
import re
import textwrap
from html import escape
from pathlib import Path

from helpers.draw.code import code_html, fold_html
from helpers.grade.marks import TASK_ID, find_regions, replace_regions
from helpers.grade.notebook import find_root
from helpers.grade.record import read_record
from helpers.grade.written import ONE_WAY, one_way, source_of, without_docstring
from helpers.lesson.shown import Shown, find_file, put
from helpers.record import progress_file
from helpers.skipped import definitions, references

STUB = re.compile(
    rf'raise NotImplementedError\(\s*"Task ({TASK_ID.pattern}): [^\n]*\n[^\n]*\n\s*\)'
)
YOURS = "...  # task {}: yours"


def show_code(path: str | Path, name: str = "", start: str = "", end: str = "") -> None:
    """Show lines of a script as they stand in it.

    In the place of a task that isn't done stands a comment. One way to write it is under a fold:
    with the solutions from the start, in the student edition once its check has passed.

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
    text, where = find_file(path).read_text(encoding="utf-8"), Path(path).as_posix()
    mine = replace_regions(text, lambda region: YOURS.format(region.task), where)
    mine = STUB.sub(lambda found: YOURS.format(found[1]), mine)
    lines = _lines(mine, where, name, start, end)
    html = f"<div>{escape(where)}{escape(f', {name}') if name else ''}</div>{code_html(lines)}"
    if regions := find_regions(text, where):
        solved = replace_regions(text, lambda region: region.body, where)
        if any(YOURS.format(region.task) in lines for region in regions):
            html += fold_html(ONE_WAY, code_html(_lines(solved, where, name, start, end)))
    else:
        html += "".join(one_way(task, find_root()) for task in _passed_in(path, name))
    return Shown(html, f"{where}\n{lines}")


def _lines(text: str, where: str, name: str, start: str, end: str) -> str:
    """Return the lines that are asked for."""
    if name:
        nodes = dict(definitions(ast.parse(text)))
        if name not in nodes:
            raise ValueError(f"{where} has no {name!r}: it has {', '.join(nodes) or 'nothing'}")
        text = without_docstring(source_of(text, nodes[name]))
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


def _passed_in(path: str | Path, name: str) -> list[str]:
    """Return the passed tasks of the student edition in this part of a script."""
    file = find_file(path).resolve()
    root = find_root().resolve()
    where = file.relative_to(root).as_posix() if root in file.parents else ""
    record = read_record(progress_file())
    return [
        task
        for task, files in references(root).items()
        if any(not name or f"{each}.".startswith(f"{name}.") for each in files.get(where, ()))
        and record.get(task, {}).get("passed")
    ]
