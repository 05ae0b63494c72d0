"""`show_diff`: what changed from one script to the next, which is the lesson itself."""

import difflib
from html import escape
from pathlib import Path

from helpers.grade.marks import replace_regions
from helpers.lesson.shown import Shown, find_file, put

# Blue and orange of the Okabe-Ito set, thin enough to read the text on a light or a dark page.
COLOURS = {"+": "rgba(0, 114, 178, 0.20)", "-": "rgba(230, 159, 0, 0.25)"}
MARKS = {"+": "ins", "-": "del"}


def show_diff(before: str | Path, after: str | Path, context: int = 3) -> None:
    """Show the lines in which the script `after` differs from the script `before`.

    Each line has its mark (+ new, - gone) besides its colour; `context` unchanged lines stand
    around every change. Paths are seen from the current folder or from the top of the project.
    The solution of a task is not shown, only where it belongs: the reader is to write it.
    """
    put(diff(before, after, context))


def diff(before: str | Path, after: str | Path, context: int = 3) -> Shown:
    """The diff that `show_diff` shows. Raises FileNotFoundError for a path that is no file."""
    old, new = _without_solutions(before), _without_solutions(after)
    names = [Path(path).as_posix() for path in (before, after)]
    lines = list(difflib.unified_diff(old, new, *names, n=context, lineterm=""))
    body = lines[2:]  # without the two lines that name the files: the title does
    if not body:
        same = f"{names[0]} and {names[1]} are the same."
        return Shown(f"<p>{escape(same)}</p>", same)
    gone, come = (sum(line.startswith(mark) for line in body) for mark in "-+")
    title = f"From {names[0]} to {names[1]}: {come} lines new (+), {gone} lines gone (-)"
    rows = "".join(_row(line) for line in body)
    html = f'<p>{escape(title)}</p><pre style="line-height: 1.4">{rows}</pre>'
    return Shown(html, "\n".join([title, *body]))


def _without_solutions(path: str | Path) -> list[str]:
    """The lines of a script, with one comment in place of each solution."""
    text = find_file(path).read_text(encoding="utf-8")
    hidden = replace_regions(text, lambda region: f"...  # task {region.task}: yours", str(path))
    return hidden.splitlines()


def _row(line: str) -> str:
    """One line of the diff as HTML: the mark stays in the text, colour only helps."""
    mark, text = line[:1], escape(line)
    if mark == "@":
        return f'<span style="opacity: 0.6">{text}</span>\n'
    if mark not in MARKS:
        return f"{text}\n"
    style = f"background-color: {COLOURS[mark]}; text-decoration: none"
    return f'<{MARKS[mark]} style="{style}">{text}</{MARKS[mark]}>\n'
