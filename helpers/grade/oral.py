"""`python -m helpers.grade.oral FOLDER`: a sheet for each person's oral, tasks and lines by lot.

    python -m helpers.grade.oral submissions --secret FILE --each 2

FOLDER holds the hand-ins as they came. A sheet has the person's own functions for the tasks that
were drawn, evidence first, with the task's question from docs/teaching/oral.md and one about a line
of theirs, also by lot. Nothing of the work runs. With one secret the lot is the same each time, and
nobody knows it before.
"""

import argparse
import ast
import re
import sys
from html import escape
from pathlib import Path
from random import Random

from helpers.draw.code import code_html
from helpers.files import print_pdf, write_whole
from helpers.grade.copy import MOST_SOURCE, read_plain
from helpers.grade.look import look_at
from helpers.grade.submitted import SubmissionError, names, opened, refused, submissions
from helpers.grade.task import ROOT, Task, WorkFailed, all_tasks
from helpers.grade.written import functions_of, without_docstring
from helpers.plain_errors import plain_errors

QUESTION = re.compile(r"^\*\*([A-Z]+(?:-[A-Z]+)?-P?\d), [^*]*\*\*\s*(.+?)\n\n", re.S | re.M)
STYLE = """body { font: 15px/1.45 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto }
article { break-after: page } pre { font-size: 13px; white-space: pre-wrap } q { quotes: none }"""
POINTS = (
    "3: the reason, and a right prediction of a change. 2: the reason, the prediction with a hint. "
    "1: what the lines do. 0: they worked."
)


def questions(root: Path = ROOT) -> dict[str, str]:
    """Return {task: its question, and what to listen for} of the page of oral questions."""
    text = (root / "docs" / "teaching" / "oral.md").read_text(encoding="utf-8")
    return {task: " ".join(words.split()) for task, words in QUESTION.findall(text + "\n\n")}


def done_in(root: Path, tasks: list[Task]) -> dict[str, str]:
    """Return {task: the person's functions} of what is begun below `root`."""
    found = {}
    for task in tasks:
        data = read_plain(root / task.file, MOST_SOURCE)
        try:
            if data is not None:
                look_at(root / task.file, task)
                functions = functions_of(data.decode(), task)
                found[task.id] = "\n\n".join(map(without_docstring, functions.values()))
        except (WorkFailed, ValueError):  # not begun, or nothing that could be printed
            continue
    return found


def line_of(code: str, lot: Random) -> str:
    """Return a line of the code by lot: one that may be left out, if there's any."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.stmt)]
    apart = [node for node in nodes if isinstance(node, ast.AugAssign | ast.Expr)]
    numbers = sorted({node.lineno for node in apart or nodes})
    return code.splitlines()[lot.choice(numbers) - 1].strip() if numbers else ""


def sheet(name: str, work: dict[str, str], tasks: list[Task], each: int, secret: str) -> str:
    """Return a person's page: `each` of the tasks that are done, evidence before the rest."""
    lot, asked = Random(f"{secret} {name}"), questions()
    ready = [task for task in tasks if task.id in work]
    lot.shuffle(ready)
    ready.sort(key=lambda task: task.kind != "evidence")
    parts = [f"<h1>{escape(name)}</h1>", f"<p>{POINTS}</p>"]
    for task in ready[:each]:
        code = work[task.id]
        line = escape(line_of(code, lot))
        parts.append(
            f"<h2>{task.id}: {escape(task.title)}</h2>{code_html(code)}"
            f"<p>{escape(asked.get(task.id, '')).replace('*', '')}</p>"
            f"<p>And without <code>{line}</code>: what would be wrong first, on which rank, and "
            "what would show it?</p>"
        )
    return f"<article>{''.join(parts if ready else [*parts, '<p>nothing is begun</p>'])}</article>"


def main(arguments: list[str] | None = None) -> int:
    """0, or 2 with one sentence on what was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.oral", description="Draw a sheet for each person's oral."
    )
    parser.add_argument("folder", type=Path, help="the hand-ins of a class")
    parser.add_argument("--secret", type=Path, required=True, help="a file that only you have")
    parser.add_argument("--each", type=int, default=2, help="tasks for each person (2)")
    parser.add_argument("--out", type=Path, default=Path("build/oral.html"), help="the sheets")
    options = parser.parse_args(arguments)
    tasks, pages = all_tasks(), []
    try:
        secret = options.secret.read_text(encoding="utf-8").strip()
        if not secret or options.each < 1:
            raise ValueError(f"{options.secret} needs a line in it, and --each 1 or more")
        paths = submissions(options.folder)
        for path, name in zip(paths, names(paths), strict=True):
            if refused(path):
                continue
            with opened(path, [task.file for task in tasks]) as root:
                pages.append(sheet(name, done_in(root, tasks), tasks, options.each, secret))
    except (SubmissionError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    head = f"<!doctype html><meta charset=utf-8><title>Orals</title><style>{STYLE}</style>"
    write_whole(options.out, f"{head}{''.join(pages)}\n")
    print(f"{len(pages)} sheets: {options.out}{' and .pdf' if print_pdf(options.out) else ''}")
    return 0


if __name__ == "__main__":
    with plain_errors():
        sys.exit(main())
