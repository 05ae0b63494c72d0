"""`python -m helpers.grade.predictions FOLDER`: what a class predicted, and how long tasks took.

FOLDER holds a progress file of each student, made with
`python -m helpers.grade.progress --json > ada.json`. The right choice of each question has a star.
"""

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

from helpers.grade.task import Task, all_tasks
from helpers.plain_errors import plain_errors
from helpers.record import read_all

BAR = 30


def histogram(records: list[dict]) -> str:
    """For each question how many chose which letter.

    records: what each student's file holds.
    """
    chosen: dict[str, Counter] = defaultdict(Counter)
    right: dict[str, set] = defaultdict(set)
    for record in records:
        for question, facts in record.get("predictions", {}).items():
            if isinstance(facts, dict) and isinstance(letter := facts.get("chosen"), str):
                chosen[question][letter] += 1
                if facts.get("right"):
                    right[question].add(letter)
    lines = []
    for question in sorted(chosen, key=lambda name: [*map(_number, name[1:].split("-"))]):
        counts = chosen[question]
        total = counts.total()
        lines.append(f"{question}  {total} answer{'' if total == 1 else 's'}")
        for letter in sorted(counts):
            bar = "#" * round(BAR * counts[letter] / total)
            star = "*" if letter in right[question] else " "
            lines.append(f"  {letter}{star} {bar:{BAR}} {counts[letter]:3d}")
    return "\n".join(lines) or "nobody has predicted anything yet"


def minutes(records: list[dict], tasks: list[Task]) -> str:
    """A line for each task that somebody has timed: the median, and what we had estimated."""
    lines = []
    for task in tasks:
        facts = [record.get("times", {}).get(task.id) for record in records]
        found = [f["minutes"] for f in facts if isinstance(f, dict) and f.get("minutes")]
        if found := [each for each in found if isinstance(each, int)]:
            lines.append(f"{task.id:8} {median(found):4.0f} minutes, the median of {len(found)}; "
                         f"estimated {task.minutes}")  # fmt: skip
    return "\n".join(lines)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def main(arguments: list[str] | None = None) -> int:
    """0, or 1 without a folder."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.predictions", description="Show what a class predicted."
    )
    parser.add_argument(
        "folder", type=Path, help="a folder with one progress file for each student"
    )
    folder = parser.parse_args(arguments).folder
    if not folder.is_dir():
        print(f"there is no folder {folder}", file=sys.stderr)
        return 1
    read = {path.name: read_all(path) for path in sorted(folder.glob("*.json"))}
    tasks = all_tasks()
    print(histogram(list(read.values())))
    print(minutes(list(read.values()), tasks))
    if unread := [name for name, record in read.items() if not record]:
        print(f"{len(unread)} not readable: {', '.join(unread)}")
    return 0


if __name__ == "__main__":
    with plain_errors():
        sys.exit(main())
