"""Solutions in the code: find them, and put something else in their place.

A solution stands between two comment lines, each alone on its line:

    `# BEGIN SOLUTION DP-1`
    `# END SOLUTION`

The id says which task the solution belongs to, so one file may hold several tasks, and one task
several regions.
"""

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass

TASK_ID = re.compile(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)*")
_MARK = re.compile(
    rf"(?P<indent>[ \t]*)# (END SOLUTION|BEGIN SOLUTION(?: (?P<task>{TASK_ID.pattern}))?)"
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
    """All solutions of a script, in order.

    where: the name of the file, for the message.
    known: the ids that exist; None takes every well-formed id.
    Raises MarkError: BEGIN without END or END without BEGIN, one solution inside another, no id,
    an unknown id, a mark written nearly right.
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
        if "BEGIN" in mark[0]:
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
        indent = begun["indent"]
        body = "\n".join(line.removeprefix(indent) for line in lines[first : number - 1])
        found.append(Region(begun["task"], first, number, indent, body))
        begun = None
    if begun:
        raise MarkError(
            f"{where}:{first}: the solution of {begun['task']} begins here and never ends: "
            "write '# END SOLUTION' after it"
        )
    return found


def replace_regions(
    text: str, replacement: Callable[[Region], str], where: str = "the text"
) -> str:
    """`text` with `replacement(region)` in the place of each solution, at the same indent.

    Everything outside of the marks stays as it is, to the byte.  Raises MarkError as above.
    """
    lines = text.splitlines(keepends=True)
    for region in reversed(find_regions(text, where)):
        begin, end = lines[region.first - 1], lines[region.last - 1]
        newline = begin[len(begin.rstrip("\r\n")) :]
        new = [
            (region.indent + line).rstrip() + newline
            for line in textwrap.dedent(replacement(region)).strip("\n").split("\n")
        ]
        if end == end.rstrip("\r\n"):  # the last line of a file without an end of line
            new[-1] = new[-1].rstrip("\r\n")
        lines[region.first - 1 : region.last] = new
    return "".join(lines)
