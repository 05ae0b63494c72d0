"""`python -m helpers.grade.page [--check]`: write docs/tasks.md from the tasks' own facts, and from
the syllabus the tables of lessons in README, TEACHING.md and lesson 00, and the minutes of a term.

For a lesson, one task as Markdown.
"""

import argparse
import re
import sys
from functools import cache
from html import escape
from pathlib import Path

from helpers.files import write_whole
from helpers.grade.task import KINDS, ROOT, Task, all_tasks, load_task, load_whole
from helpers.plain_errors import plain_errors
from helpers.syllabus import LESSONS, by_name

PAGE = Path("docs", "tasks.md")
TEACHING = Path("TEACHING.md")
README, WELCOME = Path("README.md"), Path("notebooks", "source", f"{LESSONS[0].stem}.py")
TERM = re.compile(r"<!-- begin term: minutes by make tasks -->.*?<!-- end term -->", re.DOTALL)
BEGIN, END = "<!-- begin lessons: written by make tasks -->\n", "<!-- end lessons -->\n"


tasks_once = cache(all_tasks)  # reading their files takes longer than all else


def page() -> str:
    """The text of the page."""
    tasks = tasks_once()
    lines = [
        "# Tasks",
        "",
        "Written by `make tasks` from the files in [tasks/](../tasks).",
        "",
        f"{len(tasks)} tasks, {sum(t.points for t in tasks)} points, about "
        f"{sum(t.minutes for t in tasks) / 60:.0f} hours. Write the body of the function that a "
        "task names. Then check it:",
        "",
        "```sh",
        "python -m helpers.grade DP-1        # one task; DP: all of that lab; 03: all of a lesson",
        "make progress                       # what is done, and what comes next",
        "```",
        "",
        'In a notebook: `check("DP-1")`; `check("DP-1", hint=3)` gives the third of three hints, '
        "which is nearly the answer and doesn't stand here.",
        "",
        "A task is of one of three kinds, and earns a point for about two minutes. The last column "
        "counts the mistakes that its check can name; for any other it says where results differ.",
        "",
        "",
        *(f"- **{kind}**: {meaning}" for kind, meaning in KINDS.items()),
    ]
    for lesson in LESSONS:
        here = [task for task in tasks if task.number == lesson.number]
        if here:
            lines += ["", f"## {lesson.number} {lesson.title}", ""]
            lines += ["| task | what | where | kind | minutes | points | mistakes |"]
            lines += ["|---|---|---|---|---|---|---|"]
            lines += [_row(task) for task in here]
            for task in here:
                lines += ["", hints(task, 2)]
    lines += ["", "Labs of other courses, and what they find here: [other_labs.md](other_labs.md)."]
    return "\n".join([*lines, ""])


def written(path: Path, lines: list[str], root: Path = ROOT) -> str:
    """The text of a file with a table in its place. Raises ValueError without its marks."""
    text = (root / path).read_text(encoding="utf-8")
    margin = "# " if path.suffix == ".py" else ""
    before, begin, rest = text.partition(margin + BEGIN)
    _, end, after = rest.partition(margin + END)
    if not (begin and end):
        raise ValueError(f"{path}: the lines {BEGIN.strip()!r} and {END.strip()!r} are missing")
    return before + begin + "".join(f"{margin}{line}\n" for line in lines) + end + after


def questions(folder: str) -> list[str]:
    """The table of the lessons and their questions. folder: where the notebooks are from there."""
    lines = ["| | lesson | question |", "|---|---|---|"]
    for lesson in LESSONS:
        link = f"[{lesson.short}]({folder}{lesson.stem}.ipynb)"
        lines.append(f"| {lesson.number} | {link} | {lesson.question} |")
    return lines


def teaching() -> list[str]:
    """The table of what each lesson needs."""
    lines = ["| | lesson | after | ranks | memory | tasks (points) | minutes of tasks |"]
    lines.append("|---|---|---|---|---|---|---|")
    shown = {"practice": "{}", "evidence": "**{}**", "prize": "*{}*"}
    tasks = tasks_once()
    for lesson in LESSONS:
        here = [task for task in tasks if task.number == lesson.number]
        ids = ", ".join(f"{shown[task.kind].format(task.id)} ({task.points})" for task in here)
        minutes = sum(task.minutes for task in here) or ""
        lines.append(
            f"| {lesson.number} | {lesson.title} "
            f"| {', '.join(sorted(by_name(name).number for name in lesson.needs))} "
            f"| {lesson.ranks or ''} | {lesson.gigabytes:g} GB "
            f"| {ids} | {minutes} |"
        )
    return lines


def with_minutes(text: str) -> str:
    """Return `text` with minutes and evidence of its homework in each row of a term's plan."""

    def row(match: re.Match) -> str:
        tasks = named(match[2].partition("By choice")[0])
        evidence = ", ".join(task.id for task in tasks if task.kind == "evidence")
        return f"{match[1]}{match[2]}| {sum(t.minutes for t in tasks)} | {evidence} |{match[3]}|"

    rows = re.compile(r"^(\| \d+ \|[^|]*\|)([^|]*)\|[^|]*\|[^|]*\|([^|]*)\|$", re.MULTILINE)
    return TERM.sub(lambda plan: rows.sub(row, plan[0]), text)


def named(text: str) -> list[Task]:
    """Return the tasks that a text names, each as often, also as a range such as "PF-3 to PF-5"."""
    for lab, first, last in re.findall(r"([A-Z]+-P?)(\d) to [A-Z]+-P?(\d)", text):
        text += "".join(f" {lab}{number}" for number in range(int(first) + 1, int(last)))
    tasks = {task.id: task for task in tasks_once()}
    return [tasks[task_id] for task_id in re.findall(r"\b[A-Z]+(?:-[A-Z]+)?-P?\d\b", text)]


def card(task: Task) -> str:
    """Where to write it, and each hint behind a line to click on; for a notebook."""
    return f"{task.listed('`{}`')} in [{task.file}](../{task.file})\n\n{hints(task)}"


def hints(task: Task, most: int = 3) -> str:
    """The first `most` hints, from a nudge to nearly the answer, each closed until it is wanted."""
    return "\n".join(
        f"<details><summary>Hint {number} for {task.id}</summary>{_html(hint)}</details>"
        for number, hint in enumerate(task.hints[:most], 1)
    )


def _html(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def _row(task: Task) -> str:
    where = f"[`{task.file}`](../{task.file}), {task.listed('`{}`')}"
    named = len(getattr(load_whole(load_task(task.id)), "MUTANTS", ()))
    facts = f"{task.kind} | {task.minutes} | {task.points} | {named or ''}"
    title = task.title.replace("|", "\\|")
    return f"| **{task.id}** | {title} | {where} | {facts} |"


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """0 if the pages are as they should be, 1 if `--check` finds that they are not."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.page",
        description=f"Write {PAGE.as_posix()}, and the tables of lessons elsewhere.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing, say what is stale")
    options = parser.parse_args(arguments)
    texts = {
        PAGE: page(),
        TEACHING: with_minutes(written(TEACHING, teaching(), root)),
        README: written(README, questions("notebooks/"), root),
        WELCOME: written(WELCOME, questions(""), root),
    }
    stale = [path for path, text in texts.items() if _text(root / path) != text]
    if options.check:
        stale = [path for path in stale if path != PAGE]  # which isn't committed
        for path in stale:
            print(
                f"{path.as_posix()} is not what tasks and syllabus say: make tasks", file=sys.stderr
            )
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
