"""What each lesson asks of a machine. One row for each notebook in notebooks/."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Lesson:
    """ranks: the most processes that it starts. gigabytes: memory it takes, kernel included."""

    number: str
    title: str
    ranks: int = 0
    gigabytes: float = 1.0
    torch: bool = True


LESSONS = (
    Lesson("00", "Welcome, and a check of this machine", torch=False, gigabytes=0.5),
    Lesson("01", "One device: batch, SGD, loss, floor, a story"),
    Lesson("03", "Data parallel: average the gradients", ranks=3, gigabytes=2.0),
)
