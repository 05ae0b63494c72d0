"""The grades of a class: one table for a spreadsheet, and text for a terminal."""

import csv
import io
import re
import textwrap
from collections import Counter

from helpers.grade.many import Graded, Grades
from helpers.grade.verdict import EMPTY, not_held
from helpers.grade.words import cut, in_one_line

MOST_WORDS = 300  # characters of a reason
OWN = ("mistake", "not done", "pass")  # kinds of verdicts whose words are the check's alone


def csv_of(grades: Grades) -> str:
    """Return a row for each submission.

    A task that was not graded, because somebody stopped the grading, has an empty field, and so has
    everything of an empty folder.
    """
    found = dict.fromkeys(head for one in grades.graded for head in _cells(one))
    heads = []
    for task in grades.tasks:
        heads += [task.id, *(head for head in found if head.startswith(f"{task.id} "))]
    out = io.StringIO()
    fields = ["submission", "points", "of", *heads, "feedback", "limits", "note"]
    table = csv.DictWriter(out, fields, lineterminator="\n")
    table.writeheader()
    for one in grades.graded:
        facts: dict[str, object] = {"submission": one.name, "note": "handed in nothing"}
        if one.handed_in:
            # Of a check for which the work wasn't run, nothing was or wasn't held.
            limits = (v.limits for v in one.verdicts.values())
            limits = dict.fromkeys(str(each) for each in limits if each.held or each.open)
            facts |= {"points": one.points, "of": grades.of, **_cells(one)}
            facts |= {"feedback": _feedback(one), "limits": "; ".join(limits)}
            facts["note"] = "; ".join(filter(None, _troubles(one)))
        table.writerow({head: safe(fact) for head, fact in facts.items()})
    return out.getvalue()


def _cells(one: Graded) -> dict[str, float]:
    """{head: number} of the columns that a submission fills."""
    cells: dict[str, float] = {}
    for task_id, v in one.verdicts.items():
        cells[task_id] = v.points
        if v.score:
            cells[f"{task_id} score ({v.score.unit})"] = v.score.number
    return cells


def _feedback(one: Graded) -> str:
    """Points of each task, and its score or what was wrong: the check's sentence, or where the work
    itself has chosen words of it (an error's), only its kind."""
    parts = []
    for v in one.verdicts.values():
        word = cut(v.kind in OWN and v.reason or v.kind, MOST_WORDS)
        said = "" if word == "pass" else f" ({word})"
        parts.append(f"{v.task.id}: {v.points} of {v.task.points}{said}")
    return "; ".join(parts)


def _troubles(one: Graded) -> list[str]:
    """What the teacher should know and no feedback repeats: errors, in whatever words."""
    found = [v for v in one.verdicts.values() if v.kind not in (*OWN, *EMPTY) and v.reason]
    return [one.trouble] + [f"{v.task.id}: {cut(in_one_line(v.reason), MOST_WORDS)}" for v in found]


def safe(cell: object) -> object:
    """Text that a spreadsheet shows and doesn't compute, whatever it takes for a separator."""
    if not isinstance(cell, str):
        return cell
    return re.sub(r"(^|[;,\t\r\n])(?=[=+@\t\r-])", r"\1'", cell)


def text_of(grades: Grades) -> str:
    """A line for each submission: its points, and the tasks that failed."""
    wide = max([len("submission"), *(len(one.name) for one in grades.graded)])
    lines = [f"{'submission':{wide}}  points  not passed"]
    for one in grades.graded:
        missing = len(grades.tasks) - len(one.verdicts)
        failed = [v.task.id for v in one.verdicts.values() if not v.passed]
        words = ", ".join(failed) + (f" ({missing} not graded)" if missing else "")
        words = words if one.handed_in else "handed in nothing"
        lines.append(f"{one.name:{wide}}  {one.points:3d}/{grades.of:<3d} {words}".rstrip())
    all_verdicts = [v for one in grades.graded for v in one.verdicts.values()]
    lines += [text] if (text := not_held(all_verdicts)) else []
    return "\n".join(lines)


def struggles_of(grades: Grades) -> str:
    """What gave the class trouble: how many passed and began each task, most frequent reasons."""
    lines = ["where the class struggled: passed, begun, and the most frequent reasons"]
    for task in grades.tasks:
        verdicts = [one.verdicts[task.id] for one in grades.graded if task.id in one.verdicts]
        begun = [v for v in verdicts if v.kind not in EMPTY]
        passed = sum(v.passed for v in begun)
        lines.append(f"{task.id:8} {passed:3d} {len(begun):3d} of {len(verdicts)}  {task.title}")
        wrong = Counter(v.reason or v.kind for v in begun if not v.passed)
        for reason, count in wrong.most_common(2):
            said = f"{count} x {cut(in_one_line(reason), MOST_WORDS)}"
            lines.append(
                textwrap.fill(said, 98, initial_indent=" " * 9, subsequent_indent=" " * 13)
            )
    return "\n".join(lines)
