"""`python -m helpers.grade.predictions FOLDER`: what a class predicted, and how long tasks took.

FOLDER holds the hand-ins of a class, as they came, or progress files (`python -m
helpers.grade.progress --json > ada.json`). Only what somebody chose is taken from them: the right
choice, which has a star, comes from the lesson's truth.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from helpers.grade.handin import claims_in, facts_in
from helpers.grade.record import chosen_in, minutes_of
from helpers.grade.submitted import opened, refused
from helpers.grade.task import ANSWERS, ROOT, Task, TaskError, all_tasks, load_packed
from helpers.plain_errors import plain_errors
from helpers.record import read_all
from helpers.syllabus import LESSONS
from helpers.words import many

BAR = 30
PLACES = {lesson.name: place for place, lesson in enumerate(LESSONS)}
QUESTION = re.compile(r"([a-z][a-z0-9_]*)-([0-9]{1,3})")


def histogram(records: Sequence[dict]) -> str:
    """For each question how many chose which letter; answers that nobody could choose don't count.

    records: what each student's hand-in or file holds.
    """
    chosen: dict[str, Counter] = defaultdict(Counter)
    for record in records:
        for question, letter in chosen_in(record).items():
            chosen[question][letter] += 1
    lines = []
    for question in sorted(filter(QUESTION.fullmatch, chosen), key=_in_order):
        right, letters = _truth(question)
        counts = {letter: chosen[question][letter] for letter in letters}
        if not (total := sum(counts.values())):
            continue
        words = "" if right else "; each machine measures which is right"
        lines.append(f"{question}  {many(total, 'answer')}{words}")
        for letter in (letter for letter in letters if counts[letter]):
            bar = "#" * round(BAR * counts[letter] / total)
            star = "*" if letter == right else " "
            lines.append(f"  {letter}{star} {bar:{BAR}} {counts[letter]:3d}")
    return "\n".join(lines) or "nobody has predicted anything yet"


def _truth(question: str) -> tuple[str, list[str]]:
    """Return the right letter, none where it's measured, and all letters; none where not asked."""
    try:
        asked = load_packed(ROOT / "tasks", QUESTION.fullmatch(question)[1], ANSWERS).PREDICTIONS[
            question
        ]
    except (TaskError, KeyError, AttributeError):
        return "", []
    right = "" if callable(asked.right) else asked.right
    return right, sorted({*asked.wrong, *right})


def minutes(records: Sequence[dict], tasks: list[Task]) -> str:
    """A line for each task that somebody has timed: the median, and what we had estimated."""
    lines, timed = [], [minutes_of(record) for record in records]
    for task in tasks:
        if found := [each[task.id] for each in timed if task.id in each]:
            lines.append(f"{task.id:8} {median(found):4.0f} minutes, the median of {len(found)}; "
                         f"estimated {task.minutes}")  # fmt: skip
    return "\n".join(lines)


def _in_order(question: str) -> tuple[int, int]:
    lesson, number = QUESTION.fullmatch(question).groups()
    return PLACES.get(lesson, len(PLACES)), int(number)


def read(path: Path) -> tuple[str, dict]:
    """Return whose hand-in or progress file it is, and the record in it; empty where it has none.

    Several hand-ins with one name in them are one person's.
    """
    if path.suffix == ".json":
        return path.stem, read_all(path)
    if refused(path):
        return path.name, {}
    try:
        with opened(path, ["handin.json"]) as root:
            record = facts_in(root).get("record")
            return claims_in(root)[0] or path.name, record if isinstance(record, dict) else {}
    except OSError:
        return path.name, {}


def main(arguments: list[str] | None = None) -> int:
    """0, or 1 without a folder."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.predictions", description="Show what a class predicted."
    )
    parser.add_argument("folder", type=Path, help="hand-ins, or progress files")
    folder = parser.parse_args(arguments).folder
    if not folder.is_dir():
        print(f"there is no folder {folder}", file=sys.stderr)
        return 1
    found, without = defaultdict(list), []
    for path in sorted(folder.glob("[!._]*")):
        whose, record = read(path)
        found[whose].append(record) if record else without.append(path.name)
    people = [_merged(records) for records in found.values()]
    tasks = all_tasks()
    print(histogram(people))
    print(minutes(people, tasks))
    if without:
        print(f"without a record: {', '.join(without)}")
    return 0


def _merged(records: list[dict]) -> dict:
    """One person's record from several hand-ins: the last one by name says."""
    merged = {"predictions": {}, "times": {}}
    for record in records:
        for kind, facts in merged.items():
            facts |= record.get(kind) if isinstance(record.get(kind), dict) else {}
    return merged


if __name__ == "__main__":
    with plain_errors():
        sys.exit(main())
