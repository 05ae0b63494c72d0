"""The lessons in their order: the one table, `lessons.csv`, that all other lists of them follow.

A lesson's number is its place there. Links with another number than that of their file fail a test.
"""

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    number: its place in the table: "06".
    name: what its file is called after the number; its questions are `name-1`, `name-2`, …
    short: its title in tables. title: its heading. question: what it answers.
    needs: the lessons that it builds on.
    ranks, gigabytes: its largest number of processes, and its memory with the kernel's.
    """

    number: str
    name: str
    short: str
    title: str
    question: str
    needs: tuple[str, ...] = ()
    ranks: int = 0
    gigabytes: float = 2.0

    @property
    def stem(self) -> str:
        """What its files are called: "06_micro_batches"."""
        return f"{self.number}_{self.name}"


def _read(path: Path) -> tuple[Lesson, ...]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    for number, row in enumerate(rows):
        row["number"], row["needs"] = f"{number:02}", tuple(row["needs"].split())
        row["ranks"], row["gigabytes"] = int(row["ranks"]), float(row["gigabytes"])
    return tuple(Lesson(**row) for row in rows)


LESSONS = _read(Path(__file__).with_name("lessons.csv"))


def by_name(name: str) -> Lesson:
    """Return the lesson of this name. Raises KeyError with the names that there are."""
    for lesson in LESSONS:
        if lesson.name == name:
            return lesson
    raise KeyError(f"no lesson is named {name!r}: {', '.join(each.name for each in LESSONS)}")
