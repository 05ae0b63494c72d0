"""Verdicts on many submissions, as tables: CSV, and text for a terminal."""

import csv
import io
from pathlib import Path

from helpers.files import write_whole
from helpers.grade.many import Grades
from helpers.grade.verdict import Verdict, not_held


def csv_of(grades: Grades) -> str:
    """One row for each submission: name, points, of, points and score of each task; the limits.

    A task that was not graded, because somebody stopped the grading, has an empty field.
    """
    facts = grades.as_dict()["submissions"]
    heads = heads_of([task.id for task in grades.tasks], facts)
    rows = [["submission", "points", "of", *heads, "limits"]]
    for one, told in zip(grades.graded, facts, strict=True):
        points = cells_of(told, heads)
        limits = "; ".join(dict.fromkeys(filter(None, map(_limits, one.verdicts.values()))))
        rows.append([safe(one.name), one.points, grades.of, *points, limits])
    return csv_text(rows)


def verdicts_csv_of(grades: Grades) -> str:
    """One row for each verdict, with its reason and the limits."""
    rows = [["submission", "task", "verdict", "kind", "points", "of", "seconds", "reason"]]
    rows[0] += ["limits"]
    for one in grades.graded:
        for v in one.verdicts.values():
            rows.append(
                [safe(one.name), v.task.id, v.word, v.kind, v.task.points if v.passed else 0,
                 v.task.points, round(v.seconds), safe(v.reason), _limits(v)]
            )  # fmt: skip
    return csv_text(rows)


def text_of(grades: Grades) -> str:
    """A line for each submission: its points, and the tasks that failed."""
    wide = max([len("submission"), *(len(one.name) for one in grades.graded)])
    lines = [f"{'submission':{wide}}  points  not passed"]
    for one in grades.graded:
        missing = len(grades.tasks) - len(one.verdicts)
        failed = [v.task.id for v in one.verdicts.values() if not v.passed]
        words = ", ".join(failed) + (f" ({missing} not graded)" if missing else "")
        lines.append(f"{one.name:{wide}}  {one.points:3d}/{grades.of:<3d} {words}".rstrip())
    all_verdicts = [v for one in grades.graded for v in one.verdicts.values()]
    lines += [text] if (text := not_held(all_verdicts)) else []
    return "\n".join(lines)


def heads_of(tasks: list[str], submissions: list[dict]) -> list[str]:
    """A column for each task, and one behind it for its score, where somebody has one."""
    found = {v["task"]: _score(v) for s in submissions for v in s["verdicts"] if v.get("score")}
    return [head for task in tasks for head in (task, found.get(task)) if head]


def cells_of(submission: dict, heads: list[str]) -> list:
    """Points and scores of a submission, as in grades.json, below these heads."""
    cells = {v["task"]: v["points"] for v in submission["verdicts"]}
    cells |= {_score(v): v["score"]["number"] for v in submission["verdicts"] if v.get("score")}
    return [cells.get(head, "") for head in heads]


def _score(verdict: dict) -> str:
    return f"{verdict['task']} score ({verdict['score']['unit']})"


def _limits(verdict: Verdict) -> str:
    """The limits of one check, or nothing where the work was not run."""
    limits = verdict.limits
    return str(limits) if limits.held or limits.open else ""


def safe(text: str) -> str:
    """Text that a spreadsheet shows and does not compute."""
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def write_table(path: Path, text: str) -> None:
    """Write it with the mark by which Excel knows UTF-8; Canvas and Moodle skip the mark."""
    write_whole(path, "\ufeff" + text)


def csv_text(rows: list[list]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
