"""A card: what it shows, what it asks, and what an answer is worth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from helpers.draw import timeline
from helpers.draw.picture import Picture
from helpers.trace import Trace
from helpers.words import significant

SLIP = 0.5  # the share of the points for a wrong number that a known slip explains


class Result(NamedTuple):
    """Points for one answer, and why."""

    points: float
    of: int
    words: str


@dataclass(frozen=True)
class Choice:
    """A question with one right word. choices: {word: what it means}; none: any word may come."""

    key: str
    text: str
    points: int
    right: str
    choices: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """Return its choices for a line of text."""
        return f" {', '.join(map(repr, self.choices))}" if self.choices else ""

    def grade(self, answer: object) -> Result:
        """Raises ValueError for an answer that isn't among the choices."""
        said = str(answer).strip().lower()
        known = {word.lower() for word in self.choices}
        if known and said not in known:
            raise ValueError(f"{self.key}={answer!r} isn't one of: {', '.join(self.choices)}")
        if said == self.right.lower():
            return Result(self.points, self.points, "right")
        return Result(0, self.points, f"it isn't {answer}")


@dataclass(frozen=True)
class Number:
    """A question with a right number. slips: {what went wrong: the number that it leads to}.

    within: how far an answer may be off, in its own unit; on paper one measures with a ruler.
    """

    key: str
    text: str
    points: int
    right: float
    unit: str
    within: float
    slips: Mapping[str, float] = field(default_factory=dict)
    words = ""

    @property
    def telling(self) -> dict[str, float]:
        """The slips that don't happen to lead to the right number."""
        return {k: v for k, v in self.slips.items() if abs(v - self.right) > self.within}

    def grade(self, answer: object) -> Result:
        """Raises ValueError for an answer that isn't a number."""
        try:
            said = float(str(answer).strip().rstrip("%").replace("ms", "").replace(",", "."))
        except ValueError:
            raise ValueError(f"{self.key}={answer!r} isn't a number of {self.unit}") from None
        wrong = f"it isn't {significant(said)} {self.unit}"
        if abs(said - self.right) <= self.within:
            return Result(self.points, self.points, "right")
        near = {slip: abs(said - value) for slip, value in self.telling.items()}
        slip = min(near, key=near.get, default="")
        if near and near[slip] <= self.within:
            return Result(self.points * SLIP, self.points, f"{wrong}: {slip}")
        return Result(0, self.points, wrong)


Question = Choice | Number


@dataclass(frozen=True)
class Card:
    """One card. facts: what stands beside the picture, a sentence each. story: for the key.

    run: returns the step, in ms; real ranks take it when somebody looks.
    """

    name: str
    facts: tuple[str, ...]
    run: Callable[[], Trace] = field(compare=False)
    questions: tuple[Question, ...]
    story: str

    @cached_property
    def trace(self) -> Trace:
        return self.run()

    def __str__(self) -> str:
        """Return what stands on the card beside its picture."""
        asked = [f"{q.key}: {q.text}{q.words} ({q.points})" for q in self.questions]
        return "\n".join([f"Card {self.name}. {' '.join(self.facts)}", "", *asked])

    def picture(self, theme: str = "light") -> Picture:
        """Draw the step: boxes and messages, and nothing that says whose fault it is."""
        return timeline(self.trace, theme=theme, bare=True)

    def grade(self, answers: dict[str, object]) -> dict[str, Result]:
        """Return {question: points and why}; what isn't answered has no points.

        Raises ValueError for a question that the card doesn't ask, or an answer of another kind.
        """
        known = [question.key for question in self.questions]
        if odd := [key for key in answers if key not in known]:
            raise ValueError(f"card {self.name} asks no {', '.join(odd)}: {', '.join(known)}")
        return {
            q.key: q.grade(answers[q.key]) if q.key in answers else Result(0, q.points, "no answer")
            for q in self.questions
        }

    def check(self, **answers: object) -> None:
        """Print points and reasons, as in an exercise."""
        results = self.grade(answers)
        for key, result in results.items():
            print(f"{key:<10}{result.points:>5g} of {result.of}  {result.words}")
        print(f"{'':<10}{sum(r.points for r in results.values()):>5g} of {self.points}")

    @property
    def points(self) -> int:
        return sum(question.points for question in self.questions)
