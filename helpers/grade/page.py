"""`python -m helpers.grade.page [--check]`: write docs/tasks.md from the tasks' own facts; and the
table of the lessons in TEACHING.md; and, for a lesson, one task as Markdown."""

import argparse
import re
import sys
from html import escape
from pathlib import Path

from helpers.doctor.lessons import LESSONS
from helpers.files import write_whole
from helpers.grade.task import ROOT, Task, all_tasks
from helpers.plain_errors import plain_errors

PAGE = Path("docs", "tasks.md")
TEACHING = Path("TEACHING.md")
BEGIN, END = "<!-- begin lessons: written by make tasks -->\n", "<!-- end lessons -->\n"


def page() -> str:
    """The text of the page."""
    tasks = all_tasks()
    lines = [
        "# Tasks",
        "",
        "Written by `make tasks` from the files in [tasks/](../tasks), and tested against them.",
        "",
        f"{len(tasks)} tasks, {sum(t.points for t in tasks)} points, about "
        f"{sum(t.minutes for t in tasks) / 60:.0f} hours. Write the body of the function that a "
        "task names. Then check it:",
        "",
        "```sh",
        "python -m helpers.grade DP-1        # one task; DP: all of that lab; 03: all of a lesson",
        "make progress                       # what is done, and what comes next",
        "make handin LAB=DP                  # pack what is to be handed in",
        "```",
        "",
        'In a notebook: `check("DP-1")`; `check("DP-1", hint=2)` gives the second of three hints.',
    ]
    for lesson in LESSONS:
        here = [task for task in tasks if task.notebook == lesson.number]
        if here:
            lines += ["", f"## {lesson.number} {lesson.title}", ""]
            lines += ["| task | what | where | points | minutes |", "|---|---|---|---|---|"]
            lines += [_row(task) for task in here]
            for task in here:
                lines += ["", hints(task)]
    lines += ["", "Labs of other courses, and what they find here: [other_labs.md](other_labs.md)."]
    return "\n".join([*lines, ""])


def teaching(text: str) -> str:
    """The text of TEACHING.md with what each lesson needs. Raises ValueError without its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{TEACHING}: the lines {BEGIN.strip()!r} and {END.strip()!r} are missing")
    lines = ["| | lesson | ranks | memory | tasks (points) | minutes of tasks |"]
    lines.append("|---|---|---|---|---|---|")
    tasks = all_tasks()
    for lesson in LESSONS:
        here = [task for task in tasks if task.notebook == lesson.number]
        ids = ", ".join(f"{task.id} ({task.points})" for task in here)
        minutes = sum(task.minutes for task in here) or ""
        lines.append(
            f"| {lesson.number} | {lesson.title} | {lesson.ranks or ''} | {lesson.gigabytes:g} GB "
            f"| {ids} | {minutes} |"
        )
    return before + begin + "\n".join(lines) + "\n" + end + after


def card(task: Task) -> str:
    """Where to write it, and each hint behind a line to click on; for a notebook."""
    return f"{task.listed('`{}`')} in [{task.file}](../{task.file})\n\n{hints(task)}"


def hints(task: Task) -> str:
    """The hints, from a nudge to nearly the answer, each closed until it is wanted."""
    return "\n".join(
        f"<details><summary>Hint {number} for {task.id}</summary>{_html(hint)}</details>"
        for number, hint in enumerate(task.hints, 1)
    )


def _html(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def _row(task: Task) -> str:
    where = f"[`{task.file}`](../{task.file}), {task.listed('`{}`')}"
    return f"| **{task.id}** | {_cell(task.title)} | {where} | {task.points} | {task.minutes} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """0 if the pages are as they should be, 1 if `--check` finds that they are not."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.page",
        description=f"Write {PAGE.as_posix()}, and the table of lessons in {TEACHING}.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing, say what is stale")
    options = parser.parse_args(arguments)
    texts = {PAGE: page(), TEACHING: teaching((root / TEACHING).read_text(encoding="utf-8"))}
    stale = [path for path, text in texts.items() if _text(root / path) != text]
    if options.check:
        for path in stale:
            print(f"{path.as_posix()} is not what the tasks say: make tasks", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        write_whole(root / path, texts[path])
    print("wrote " + " and ".join(map(Path.as_posix, stale)) if stale else "all is up to date")
    return 0


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    with plain_errors():
        sys.exit(main())
