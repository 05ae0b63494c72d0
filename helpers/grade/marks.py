"""Solutions in the code: find them, and put something else in their place.

A solution stands between two comment lines, each alone on its line:

    `# BEGIN SOLUTION DP-1`
    `# END SOLUTION`           or, where several follow each other, `# END SOLUTION DP-1`

The id says which task the solution belongs to, so one file may hold several tasks, and one task
several regions.  Works line by line, so it reads scripts, notebook sources and notebook cells
alike, also a cell that stands as comments in a notebook source (`# # BEGIN SOLUTION DP-1`).
"""

import json
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass

TASK_ID = re.compile(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)*")
_MARK = re.compile(
    r"(?P<indent>[ \t]*(?:# [ \t]*)?)# (?P<word>BEGIN|END) SOLUTION"
    rf"(?: (?P<task>{TASK_ID.pattern}))?"
)
# Written nearly right, a mark would hand the solution to every student: so it is an error.
_NEARLY = re.compile(r"""[^'"`]*#\W*(begin|end)\W*solution\b.{0,12}""", re.IGNORECASE)


class MarkError(ValueError):
    """A mark is wrong; the message says which, with file and line."""


@dataclass(frozen=True)
class Region:
    """One solution.  `first` and `last` are the lines of its two marks, counted from 1.

    `indent` stands before the marks; `body` is what is between them, without that indent.
    """

    task: str
    first: int
    last: int
    indent: str
    body: str


def find_regions(
    text: str, where: str = "the text", known: Iterable[str] | None = None
) -> list[Region]:
    """All solutions of a script or of one notebook cell, in order.

    where: the name of the file, for the message.
    known: the ids that exist; None takes every well-formed id.
    Raises MarkError: BEGIN without END or END without BEGIN, one solution inside another, no id,
    another id at the end, an unknown id, a mark written nearly right.
    """
    known = None if known is None else set(known)
    found: list[Region] = []
    lines = text.splitlines()
    begun: re.Match | None = None
    first = 0
    for number, line in enumerate(lines, start=1):
        mark = _MARK.fullmatch(line.rstrip())
        if mark is None:
            if _NEARLY.fullmatch(line.rstrip()):
                raise MarkError(
                    f"{where}:{number}: {line.strip()!r} is nearly a mark: write "
                    "'# BEGIN SOLUTION ID' or '# END SOLUTION', alone on its line"
                )
            continue
        task = mark["task"]
        if mark["word"] == "BEGIN":
            if begun:
                raise MarkError(
                    f"{where}:{number}: a solution begins inside the solution of {begun['task']} "
                    f"that began at line {first}: end that one first with '# END SOLUTION'"
                )
            if task is None:
                raise MarkError(
                    f"{where}:{number}: BEGIN SOLUTION names no task: write its id behind it, "
                    "for example '# BEGIN SOLUTION DP-1'"
                )
            if known is not None and task not in known:
                raise MarkError(
                    f"{where}:{number}: there is no task {task}: the tasks are "
                    f"{', '.join(sorted(known)) or 'none yet'} (one file each in tasks/)"
                )
            begun, first = mark, number
            continue
        if begun is None:
            raise MarkError(
                f"{where}:{number}: END SOLUTION without a '# BEGIN SOLUTION ID' before it"
            )
        if task not in (None, begun["task"]):
            raise MarkError(
                f"{where}:{number}: the solution of {begun['task']} that began at line {first} "
                f"ends with the id {task}: write the same id, or none"
            )
        body = [_cut(indented, begun["indent"]) for indented in lines[first : number - 1]]
        found.append(Region(begun["task"], first, number, begun["indent"], "\n".join(body)))
        begun = None
    if begun:
        raise MarkError(
            f"{where}:{first}: the solution of {begun['task']} begins here and never ends: "
            "write '# END SOLUTION' after it"
        )
    return found


def replace_regions(
    text: str,
    replacement: Callable[[Region], str],
    where: str = "the text",
    known: Iterable[str] | None = None,
) -> str:
    """`text` with `replacement(region)` in the place of each solution, at the same indent.

    Everything outside of the marks stays as it is, to the byte.  Raises MarkError as above.
    """
    lines = text.splitlines(keepends=True)
    for region in reversed(find_regions(text, where, known)):
        begin, end = lines[region.first - 1], lines[region.last - 1]
        newline = begin[len(begin.rstrip("\r\n")) :]
        new = [
            (region.indent + line).rstrip() + newline
            for line in textwrap.dedent(replacement(region)).strip("\n").split("\n")
        ]
        if end == end.rstrip("\r\n"):  # the last line of a cell has no end of line
            new[-1] = new[-1].rstrip("\r\n")
        lines[region.first - 1 : region.last] = new
    return "".join(lines)


def is_code(name: str) -> bool:
    """Whether solutions may stand in a file of this name: scripts, sources and notebooks."""
    return name.endswith((".py", ".ipynb"))


def notebook_cells(text: str, where: str = "the notebook") -> list[tuple[str, str]]:
    """Place ("name, cell 3") and text of each code cell in the JSON of a notebook."""
    cells: list[tuple[str, str]] = []
    map_cells(text, where, lambda cell, place, source: cells.append((place, source)))
    return cells


def map_cells(text: str, where: str, change: Callable[[dict, str, str], object]) -> str:
    """The JSON of a notebook after `change(cell, place, source)` was called for each code cell.

    `change` edits the cell in place. A notebook that it leaves alone comes back as it was, to the
    byte; another as Jupyter writes it.
    """
    try:
        notebook, before = json.loads(text), json.loads(text)
        cells = list(enumerate(notebook["cells"], start=1))
    except (json.JSONDecodeError, KeyError, TypeError):
        raise MarkError(f"{where}: this is not a Jupyter notebook: build it again") from None
    for number, cell in cells:
        if cell.get("cell_type") == "code":
            source = cell.get("source", "")
            change(cell, f"{where}, cell {number}", "".join(source))
    if notebook == before:
        return text
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _cut(line: str, indent: str) -> str:
    """`line` without `indent`; a line that has less of it (an empty one) without what it has."""
    if line.rstrip() == indent.rstrip():
        return ""
    return line.removeprefix(indent) if line.startswith(indent) else line.lstrip(" \t")
