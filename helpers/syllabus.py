"""The lessons in their order: the one table, `lessons.csv`, that all other lists of them follow."""

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Lesson:
    """A lesson. number: its place in the table, "06". name: what its file is called after that.

    question: what it answers. needs: the names of the lessons that it builds on.
    """

    number: str
    name: str
    title: str
    question: str
    needs: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """What its files are called: "06_micro_batches"."""
        return f"{self.number}_{self.name}"


with Path(__file__).with_name("lessons.csv").open(encoding="utf-8", newline="") as file:
    LESSONS = tuple(
        Lesson(**row | {"number": f"{number:02}", "needs": tuple(row["needs"].split())})
        for number, row in enumerate(csv.DictReader(file))
    )
NUMBERS = {lesson.name: lesson.number for lesson in LESSONS}
