"""What a check found, for a person: as text, as a box in a notebook, as JSON."""

import base64
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from helpers.draw.style import BLUE, DARK_GRAY, VERMILLION
from helpers.grade.limits import Held
from helpers.grade.task import Task
from helpers.grade.words import plain

# Of Okabe and Ito's set, which color-blind people can tell apart; the word says the same.
COLORS = {"PASS": BLUE, "FAIL": VERMILLION, "TO DO": DARK_GRAY}
EMPTY = ("not done", "no file")  # kinds of a task that nobody has begun, which is no mistake


@dataclass(frozen=True)
class Score:
    """How good a pass is.

    words: what the student reads. number: with as many digits as a table shows. best: "highest" or
    "lowest".
    """

    words: str
    number: float
    unit: str
    best: str = "highest"


@dataclass(frozen=True, repr=False)
class Verdict:
    """The result of one check.

    kind: "pass"; or "mistake" (the check named one), "not done", "crash", "time-out", "limit" (it
    took too much), "no file", "syntax", "no function", "no verdict", "check" (the check itself is
    broken).
    reason: one sentence; of a pass, the words of its score, or empty.
    details: Python's traceback, where there is one.
    printed: the end of what the work printed. It counts for nothing.
    seconds: how long the check took.
    hint: which of the task's hints to show where it failed, from 1; 0 for none.
    following: what comes after this task, for a pass.
    limits: which limits were held while the work ran, and which this system cannot hold.
    picture: where ranks waited for each other, an SVG of that and its words; else empty.
    score: of a pass, where the task has one. A notebook's verdict has only its words.
    written: of a pass in a notebook, HTML with the lines that passed, and one way to write them.
    """

    task: Task
    kind: str
    reason: str = ""
    details: str = ""
    printed: str = ""
    seconds: float = 0.0
    hint: int = 0
    following: str = ""
    limits: Held = field(default_factory=Held)
    picture: tuple[str, ...] = ()
    score: Score | None = None
    written: str = ""

    def __post_init__(self) -> None:
        for name in ("reason", "details", "printed"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        object.__setattr__(self, "picture", tuple(map(plain, self.picture)))

    @property
    def passed(self) -> bool:
        return self.kind == "pass"

    @property
    def points(self) -> int:
        return self.task.points if self.passed else 0

    @property
    def word(self) -> str:
        if self.kind == "not done":
            return "TO DO"
        return "PASS" if self.passed else "FAIL"

    def as_dict(self) -> dict:
        """The facts, for JSON."""
        s = self.score
        return {
            "task": self.task.id,
            "title": self.task.title,
            "passed": self.passed,
            "kind": self.kind,
            "reason": self.reason,
            "details": self.details,
            "points": self.points,
            "of": self.task.points,
            "score": s and {"number": s.number, "unit": s.unit, "best": s.best},
            "seconds": round(self.seconds, 1),
            "limits": {"held": self.limits.held, "not held": self.limits.open},
        }

    def __repr__(self) -> str:
        lines = [f"{self.task.id}  {self.word}  {self.task.title}  ({self.seconds:.1f} s)"]
        lines += [
            textwrap.fill(text, 96, initial_indent="  ", subsequent_indent="  ")
            for text in (self.reason, self._size, self._hint, self._more, not_held([self]))
            if text
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        color = COLORS[self.word]
        box = f"border: 1px solid {color}; border-left: 6px solid {color}; padding: 8px 14px"
        badge = f"background: {color}; color: white; padding: 1px 8px; border-radius: 3px"
        rows = [
            f'<div><b style="{badge}">{self.word}</b>&nbsp; <b>{escape(self.task.id)}</b>&nbsp; '
            f"{escape(self.task.title)} &nbsp;<small>{self.seconds:.1f} s</small></div>"
        ]
        rows += [
            f'<div style="margin-top: 6px">{escape(text)}</div>'
            for text in (self.reason, self._size, self._hint, self._more)
            if text
        ]
        rows += [image(*self.picture)] if self.picture else []
        rows += [f'<div style="margin-top: 6px">{self.written}</div>'] if self.written else []
        return f'<div style="{box}">{"".join(rows)}</div>'

    @property
    def _size(self) -> str:
        """What a task that is not begun will take."""
        if self.kind != "not done":
            return ""
        return f"{self.task.points} points, about {self.task.minutes} minutes."

    @property
    def _hint(self) -> str:
        if self.passed or not self.hint:
            return ""
        return f"Hint {self.hint}: {self.task.hints[self.hint - 1]}"

    @property
    def _more(self) -> str:
        if self.passed:
            return f"Next: {self.following}" if self.following else ""
        if self.hint >= len(self.task.hints):
            return ""
        words = "More help" if self.hint else "For a hint"
        return f'{words}: check("{self.task.id}", hint={self.hint + 1})'


def image(svg: str, alt: str) -> str:
    """A picture that came from where the work ran: as an image, in which no script can run."""
    data = base64.b64encode(svg.encode()).decode()
    return (
        f'<div style="margin-top: 6px"><img alt="{escape(alt)}" style="max-width: 100%" '
        f'src="data:image/svg+xml;base64,{data}"></div>'
    )


def not_held(verdicts: Iterable[Verdict]) -> str:
    """The limits that this system could not hold the work to, in one clause, or an empty string."""
    found = dict.fromkeys(name for verdict in verdicts for name in verdict.limits.open)
    return f"not held here: {', '.join(found)}" if found else ""


def table(verdicts: list[Verdict]) -> str:
    """A line for each verdict, the reasons below them, and the sum."""
    wide = max(len("task"), *(len(v.task.id) for v in verdicts))
    lines = [f"{'task':{wide}}  verdict    time  what"]
    for v in verdicts:
        lines.append(f"{v.task.id:{wide}}  {v.word:7}  {v.seconds:4.1f} s  {v.task.title}")
        indent = " " * (wide + 2)
        if v.reason:
            indented = {"initial_indent": indent, "subsequent_indent": indent}
            lines.append(textwrap.fill(v.reason, 98, **indented))
    passed = [v for v in verdicts if v.passed]
    points, of = sum(v.points for v in verdicts), sum(v.task.points for v in verdicts)
    lines.append(f"{len(passed)} of {len(verdicts)} passed, {points} of {of} points")
    lines += [text] if (text := not_held(verdicts)) else []
    return "\n".join(lines)
