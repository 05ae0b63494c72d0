"""Does a text give a solution away, even if it was indented, marked as a diff, or made HTML?

Only letters and digits are compared, so layout does not hide a solution. A text leaks a solution
if it holds about half of its lines in a row (at most four): any two pieces of code may share less
than that.
"""

import ast
import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from helpers.grade.marks import Region

FEWEST_LETTERS = 16  # shorter pieces, such as "return total", stand everywhere
MOST_LINES = 4
_TAG = re.compile(r"<[^<>]*>")
_PICTURE = re.compile(r"[A-Za-z0-9+/=]{400,}")  # base64, which takes long and says nothing


@dataclass(frozen=True)
class Piece:
    """Some lines of a solution in a row, without anything but letters and digits."""

    task: str
    letters: str


def pieces_of(regions: Iterable[Region]) -> list[Piece]:
    """The pieces that no student should see."""
    found = {}
    for region in regions:
        lines = [line.strip() for line in region.body.splitlines()]
        lines = [_letters(line) for line in lines if not line.startswith("#")]
        lines = [line for line in lines if line]
        length = min(MOST_LINES, max(2, (len(lines) + 1) // 2), len(lines))
        for start in range(len(lines) - length + 1):
            letters = "".join(lines[start : start + length])
            if len(letters) >= FEWEST_LETTERS:
                found[Piece(region.task, letters)] = None
    return list(found)


def functions_of(path: Path) -> list[Region]:
    """The functions of a task or of answers, as if each were a solution; cases aren't."""
    source = path.read_text(encoding="utf-8")
    task = path.stem.upper().replace("_", "-").strip("-")
    return [
        Region(task, node.lineno, node.end_lineno, "", ast.get_source_segment(source, node))
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name not in ("cases", "name")
    ]


def leaked(text: str, pieces: Iterable[Piece]) -> str | None:
    """The id of a task whose solution `text` gives away, or None."""
    text = _PICTURE.sub(" ", text)
    written = text.replace("\\n", "\n").replace("\\t", "\t")  # as JSON writes ends of lines
    shown = html.unescape(_TAG.sub("", written))
    forms = {_letters(form) for form in (text, written, shown)}
    for piece in pieces:
        if any(piece.letters in form for form in forms):
            return piece.task
    return None


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text)
