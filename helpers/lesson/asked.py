"""What a lesson asks: the right choice of each prediction, and each number, with their reasons.

They stand in `tasks/answers/NAME.py`, and in a student's copy in the archive of the tasks.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType

from helpers.check.task import part_of_tasks

ID = re.compile(r"([a-z][a-z0-9_]*)-\d{1,3}")


class UnknownQuestion(ValueError):
    """There is no such question; the message says which there are."""


class Prediction:
    """The right choice of a prediction, and a reason for each choice.

    Args:
        text: a paragraph for each choice. The right one begins "B* ", and says why it's right; a
            wrong one begins "A) ", and says why one might think so and what that misses. Where the
            right one is measured, a paragraph before them says why. Any may hold measured values:
            "{ratio:.1f} times".
        right: the function that returns the right letter from values the lesson has measured.
    """

    def __init__(self, text: str, right: Callable[..., str] | None = None):
        because, *rest = re.split(r"^\s*([A-Z])([)*]) ", text, flags=re.MULTILINE)
        letters, marks, reasons = rest[::3], rest[1::3], [" ".join(r.split()) for r in rest[2::3]]
        self.wrong = dict(zip(letters, reasons, strict=True))
        self.right = right or letters[marks.index("*")]
        self.because = " ".join(because.split()) if right else self.wrong.pop(self.right)


@dataclass(frozen=True)
class Number:
    """The right answer to a question for a number.

    Args:
        truth: the number, or a function that returns it (from measured values, if it takes any).
        unit: what it counts, for the reader: "micro-batches".
        tolerance: the largest absolute error that is still right.
        because: how one gets there, shown with a right answer.
        slips: numbers that known slips lead to, each with a sentence that names the slip.
    """

    truth: float | Callable[..., float]
    unit: str = ""
    tolerance: float = 0.0
    because: str = ""
    slips: Mapping[float, str] = field(default_factory=dict)


def asked(question: str, kind: type) -> Prediction | Number:
    """Return what is known about a question such as "micro_batches-1", or UnknownQuestion."""
    found = ID.fullmatch(question) if isinstance(question, str) else None
    if not found:
        raise UnknownQuestion(f"a question is called like 'micro_batches-1', not {question!r}")
    lesson, name = found[1], "PREDICTIONS" if kind is Prediction else "NUMBERS"
    questions = getattr(answers_of(lesson), name, {})
    if question not in questions:
        known = ", ".join(questions) or "none"
        raise UnknownQuestion(f"the lesson {lesson} has no {question} among its {name}: {known}")
    return questions[question]


def answers_of(lesson: str) -> ModuleType:
    """Return the answers of a lesson, or raise UnknownQuestion."""
    try:
        return part_of_tasks(f"answers/{lesson}")
    except FileNotFoundError:
        raise UnknownQuestion(f"the lesson {lesson} asks nothing") from None


def with_values(thing: object, values: dict) -> object:
    """Return `thing`, or what it returns if it's a function, which is given the values it takes."""
    if not callable(thing):
        return thing
    names = inspect.signature(thing).parameters
    return thing(**{name: value for name, value in values.items() if name in names})
