"""What a check found, for a person: as text, as a box in a notebook, as JSON."""

import textwrap
from dataclasses import dataclass
from html import escape

from helpers.grade.task import Task

# Blue and vermilion of Okabe and Ito's colour-blind-safe set; the word says the same.
COLOURS = {True: "#0072B2", False: "#D55E00"}


@dataclass(frozen=True, repr=False)
class Verdict:
    """The result of one check.

    kind: "pass"; or "mistake" (the check named one), "not done", "crash", "time-out", "no file",
    "syntax", "no function", "no verdict", "check" (the check itself is broken).
    reason: one sentence; of a pass, a remark such as a score, or empty.
    details: Python's traceback, where there is one.
    printed: the end of what the work printed. It counts for nothing.
    seconds: how long the check took.
    hint: which of the task's hints to show where it failed, from 1.
    """

    task: Task
    kind: str
    reason: str = ""
    details: str = ""
    printed: str = ""
    seconds: float = 0.0
    hint: int = 1

    @property
    def passed(self) -> bool:
        return self.kind == "pass"

    @property
    def word(self) -> str:
        return "PASS" if self.passed else "FAIL"

    def as_dict(self) -> dict:
        """The facts, for JSON."""
        return {
            "task": self.task.id,
            "title": self.task.title,
            "passed": self.passed,
            "kind": self.kind,
            "reason": self.reason,
            "points": self.task.points if self.passed else 0,
            "of": self.task.points,
            "seconds": round(self.seconds, 1),
        }

    def __repr__(self) -> str:
        lines = [f"{self.task.id}  {self.word}  {self.task.title}  ({self.seconds:.1f} s)"]
        lines += [
            textwrap.fill(text, 96, initial_indent="  ", subsequent_indent="  ")
            for text in (self.reason, self._hint, self._more)
            if text
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        colour = COLOURS[self.passed]
        box = f"border: 1px solid {colour}; border-left: 6px solid {colour}; padding: 8px 14px"
        badge = f"background: {colour}; color: white; padding: 1px 8px; border-radius: 3px"
        rows = [
            f'<div><b style="{badge}">{self.word}</b>&nbsp; <b>{escape(self.task.id)}</b>&nbsp; '
            f"{escape(self.task.title)} &nbsp;<small>{self.seconds:.1f} s</small></div>"
        ]
        rows += [
            f'<div style="margin-top: 6px">{escape(text)}</div>'
            for text in (self.reason, self._hint, self._more)
            if text
        ]
        return f'<div style="{box}">{"".join(rows)}</div>'

    @property
    def _hint(self) -> str:
        return "" if self.passed else f"Hint {self.hint}: {self.task.hints[self.hint - 1]}"

    @property
    def _more(self) -> str:
        if self.passed or self.hint >= len(self.task.hints):
            return ""
        return f'More help: check("{self.task.id}", hint={self.hint + 1})'


def table(verdicts: list[Verdict]) -> str:
    """A line for each verdict, the reasons below them, and the sum."""
    wide = max(len("task"), *(len(v.task.id) for v in verdicts))
    lines = [f"{'task':{wide}}  verdict    time  what"]
    for v in verdicts:
        lines.append(f"{v.task.id:{wide}}  {v.word:7}  {v.seconds:4.1f} s  {v.task.title}")
        if v.reason:
            indent = " " * (wide + 2)
            lines.append(
                textwrap.fill(v.reason, 98, initial_indent=indent, subsequent_indent=indent)
            )
    passed = [v for v in verdicts if v.passed]
    points, of = (sum(v.task.points for v in group) for group in (passed, verdicts))
    lines.append(f"{len(passed)} of {len(verdicts)} passed, {points} of {of} points")
    return "\n".join(lines)
