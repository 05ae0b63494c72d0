"""What changed from one script or schedule to the next: the lesson itself."""

import ast
import difflib
from html import escape
from pathlib import Path

from helpers.check.marks import replaced
from helpers.draw.style import BLUE, ORANGE, see_through
from helpers.lesson.shown import Shown, find_file, put
from helpers.schedules import Schedule

# Thin enough to read the text on a light or a dark page.
COLORS = {"+": see_through(BLUE, 0.2), "-": see_through(ORANGE, 0.25)}
MARKS = {"+": "ins", "-": "del"}
DOCUMENTED = ast.Module | ast.FunctionDef | ast.ClassDef


def show_diff(before: str | Path, after: str | Path, context: int = 3) -> None:
    """Show the lines in which the script `after` differs from the script `before`.

    Each line has its mark (+ new, - gone) besides its color, and `context` unchanged lines stand
    around every change. Docstrings, imports and flags are folded, because they bury the lines that
    matter; the title says so. Paths are seen from the current folder or from the top of the
    project. In place of the solution of a task there is a comment: it's for the reader to write.
    """
    put(diff(before, after, context))


def diff(before: str | Path, after: str | Path, context: int = 3) -> Shown:
    """Return the diff that `show_diff` shows; raise FileNotFoundError for a missing file."""
    old, new = (folded(_without_solutions(path)) for path in (before, after))
    names = [Path(path).as_posix() for path in (before, after)]
    lines = list(difflib.unified_diff(old, new, *names, n=context, lineterm=""))
    # Without the two lines that name the files, as the title does, and without line numbers, which
    # would count only what was not folded.
    body = ["@@" if line.startswith("@@") else line for line in lines[2:]]
    if not body:
        same = f"{names[0]} and {names[1]} are the same."
        return Shown(f"<p>{escape(same)}</p>", same)
    gone, come = (sum(line.startswith(mark) for line in body) for mark in "-+")
    title = f"From {names[0]} to {names[1]}: {come} lines new (+), {gone} lines gone (-)"
    title += "; docstrings, imports and flags are left out"
    rows = "".join(_row(line) for line in body)
    html = (
        f'<p>{escape(title)}</p><pre style="font-family: monospace; line-height: 1.4">{rows}</pre>'
    )
    return Shown(html, "\n".join([title, *body]))


def show_orders(before: Schedule, after: Schedule) -> None:
    """Show how the order of each rank differs between two schedules.

    One order is printed above the other, and actions that moved are marked.
    """
    put(orders(before, after))


def orders(before: Schedule, after: Schedule) -> Shown:
    """Return what `show_orders` shows."""
    width = max(len(before.name), len(after.name))
    plain, html = [], []
    texts = (str(schedule).splitlines() for schedule in (before, after))
    for old, new in zip(*texts, strict=True):
        (rank, _, old), (_, _, new) = old.partition(": "), new.partition(": ")
        old, new = old.split(), new.split()
        moved = [new[i : i + 1] != old[i : i + 1] for i in range(max(len(old), len(new)))]
        cell = 1 + max(map(len, [*old, *new]))
        for name, order, mark in ((before.name, old, "-"), (after.name, new, "+")):
            head = f"{rank if mark == '-' else '':{len(rank)}}  {name:{width}}  "
            plain.append(head + "".join(f"{action:{cell}}" for action in order).rstrip())
            colored = (_action(a, cell, mark * m) for a, m in zip(order, moved, strict=False))
            html.append(escape(head) + "".join(colored))
        under = "".join(f"{'^' * (cell - 1) * there:{cell}}" for there in moved)
        plain.append((" " * len(head) + under).rstrip())
    title = f"From {before.name} to {after.name}: the same actions in another order"
    body = "\n".join(html)
    return Shown(
        f'<p>{escape(title)}</p><pre style="font-family: monospace; line-height: 1.4">{body}</pre>',
        "\n".join([title, *filter(None, plain)]),
    )


def _action(action: str, width: int, mark: str) -> str:
    text = escape(action)
    if mark:
        text = f'<span style="background-color: {COLORS[mark]}">{text}</span>'
    return text + " " * (width - len(action))


def folded(text: str) -> list[str]:
    """Return the lines of a script without docstrings, imports, flags and doubled blank lines."""
    lines: list[str | None] = list(text.splitlines())

    def cut(node: ast.stmt) -> None:
        lines[node.lineno - 1 : node.end_lineno] = [None] * (node.end_lineno - node.lineno + 1)

    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Import | ast.ImportFrom)
            or getattr(node, "name", "") == "read_flags"
        ):
            cut(node)
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            cut(node.body[0])
    left = [line for line in lines if line is not None]
    return [line for line, above in zip(left, ["", *left], strict=False) if line or above]


def _without_solutions(path: str | Path) -> str:
    """Return the text of a script, with one comment in place of each solution."""
    text = find_file(path).read_text(encoding="utf-8")
    return replaced(text, lambda task, _: f"...  # task {task}: yours")


def _row(line: str) -> str:
    """Return one line of the diff as HTML; the text keeps its mark, so color is only an aid."""
    mark, text = line[:1], escape(line)
    if mark == "@":
        return f'<span style="opacity: 0.7">{text}</span>\n'
    if mark not in MARKS:
        return f"{text}\n"
    style = f"background-color: {COLORS[mark]}; text-decoration: none"
    return f'<{MARKS[mark]} style="{style}">{text}</{MARKS[mark]}>\n'
