"""What a check found: as text, and as a box in a notebook."""

import os
import textwrap
from dataclasses import dataclass
from html import escape
from typing import Any

from helpers.check.task import Task, lab
from helpers.draw.code import code_html, fold_html
from helpers.draw.style import CURVES
from helpers.ranks.pool import the_shell

ONE_WAY = "One way to write it"
COLORS = {"PASS": CURVES[0], "FAIL": CURVES[1], "TO DO": "#555555"}  # the word says the same


@dataclass(frozen=True)
class Score:
    """How good a pass is: in words, for the student, and as a number for the table of a class."""

    words: str
    number: float


@dataclass(frozen=True, repr=False)
class Verdict:
    task: Task
    kind: str  # "pass", "to do", "mistake", "crash" (also a hang), "no file" or "check" (it's ours)
    reason: str = ""  # one sentence
    details: str = ""  # the line of code, and Python's traceback
    printed: str = ""  # by the work
    waits: Any = None  # who waited for whom, if ranks hung
    score: Score | None = None
    code: str = ""  # of a pass, one way to write it
    seconds: float = 0.0
    hint: int = 0
    counted: bool = True  # a pass of the lab's own solution isn't

    @property
    def passed(self) -> bool:
        return self.kind == "pass"

    @property
    def points(self) -> int:
        return self.task.points if self.passed else 0

    @property
    def word(self) -> str:
        return {"pass": "PASS", "to do": "TO DO"}.get(self.kind, "FAIL")

    @property
    def lines(self) -> list[str]:
        """The sentences below the title."""
        task, found = self.task, [self.reason]
        if self.kind == "to do":
            found.append(f"{task.points} points, about {task.minutes} minutes.")
        if not self.passed and self.hint:
            found.append(f"Hint {self.hint}: {task.hints[self.hint - 1]}")
        if not self.passed and self.hint < len(task.hints):
            words, typed = "More help" if self.hint else "For a hint", 'check("{}", hint={})'
            typed = typed if the_shell() else "python -m helpers.check {} --hint {}"
            found.append(f"{words}: {typed.format(task.id, self.hint + 1)}")
        if not self.counted:
            found.append("This is the lab's own solution, so it doesn't count as done.")
        return [line for line in found if line]

    def __repr__(self) -> str:
        head = f"{self.task.id}  {self.word}  {self.task.title}  ({self.seconds:.1f} s)"
        indent = {"initial_indent": "  ", "subsequent_indent": "  "}
        return "\n".join([head, *(textwrap.fill(line, 96, **indent) for line in self.lines)])

    def _repr_html_(self) -> str:
        color, file = COLORS[self.word], escape(self.task.file)
        link = f'<a href="{os.path.relpath(lab() / self.task.file)}">{file}</a>'
        rows = [
            f'<div><b style="background: {color}; color: white; padding: 1px 8px; '
            f'border-radius: 3px">{self.word}</b>&nbsp; <b>{escape(self.task.id)}</b>&nbsp; '
            f"{escape(self.task.title)} &nbsp;<small>{self.seconds:.1f} s</small></div>"
        ]
        for line in self.lines:
            text = escape(line).replace(file, link)
            rows.append(f'<div style="margin-top: 6px">{text}</div>')
        if self.waits:
            from helpers.draw import who_waits

            rows.append(who_waits(self.waits)._repr_html_() or "")
        for title, text in {"Details": self.details, "It printed": self.printed}.items():
            rows.append(fold_html(title, f"<pre>{escape(text)}</pre>") if text else "")
        rows.append(fold_html(ONE_WAY, code_html(self.code)) if self.code else "")
        box = f"border: 1px solid {color}; border-left: 6px solid {color}; padding: 8px 14px"
        return f'<div style="{box}">{"".join(rows)}</div>'
