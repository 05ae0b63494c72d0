"""Judge the step of any layout against one device's; the judgment as text and as a table."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from helpers.draw.style import BLUE, VERMILLION
from helpers.oracle.compare import TOLERANCES, distance, largest
from helpers.oracle.evidence import Evidence
from helpers.oracle.mistakes import name_mistakes
from helpers.oracle.step import Step
from helpers.words import many

MOST_ROWS = 20


@dataclass(frozen=True)
class Comparison:
    """One tensor, on the rank where it is furthest off."""

    kind: str  # "gradient" or "weight" (after the step)
    name: str  # all of its names, as "embed.weight = head.weight"
    rank: int
    error: float  # the largest distance of an entry
    scale: float  # the largest entry expected
    allowed: float  # the tolerance, relative to scale
    ok: bool
    text: str = ""  # what is wrong

    @property
    def relative(self) -> float:
        """The error, relative to the largest entry; where all should be zero, the error itself."""
        return self.error / self.scale if self.scale else self.error


@dataclass(frozen=True, repr=False)
class Judgment:
    """What `judge` found; as the last value of a cell, a notebook shows it."""

    mistake: str | None  # one sentence, or None for a right step
    also: tuple[str, ...]  # others that explain the same facts
    note: str  # what the comparison can't see, or empty
    rows: tuple[Comparison, ...]  # every tensor, in the model's order
    ranks: int

    @property
    def ok(self) -> bool:
        return self.mistake is None

    @property
    def headline(self) -> str:
        wrong = sum(not row.ok for row in self.rows)
        ranks = f" on {self.ranks} ranks" if self.ranks > 1 else ""
        if self.ok:
            worst = max((row.relative for row in self.rows), default=0.0)
            right = "is that" if len(self.rows) == 1 else "are those"
            right = f"{many(len(self.rows), 'tensor')}{ranks} {right} of one device"
            return f"RIGHT: {right}; the largest difference is {worst:.1e}"
        if not wrong:
            return f"WRONG: the tensors{ranks} are not those of one device's model"
        return f"WRONG: {wrong} of {len(self.rows)} tensors{ranks} are not those of one device"

    def table(self, most: int = MOST_ROWS) -> str:
        """Return the tensors as plain text, those that are wrong first."""
        rows = sorted(self.rows, key=lambda row: row.ok)
        wide = max(len(name) for name in ["tensor", *(row.name for row in rows[:most])])
        text = [f"       what      {'tensor':{wide}}  rank  difference  allowed"]
        for row in rows[:most]:
            said = f"{'right' if row.ok else 'WRONG'}  {row.kind:8}  {row.name:{wide}}"
            text.append(f"{said}  {row.rank:<4}  {row.relative:<10.0e}  {row.allowed:.0e}")
        if rest := rows[most:]:
            wrong = sum(not row.ok for row in rest)
            words = f"{wrong} wrong" if wrong else "all right"
            text.append(f"… and {many(len(rest), 'more tensor')}, {words}")
        return "\n".join(text)

    def __str__(self) -> str:
        first = [f"Mistake: {self.mistake}."] if self.mistake else []
        said = [*first, *(f"Or: {sentence}." for sentence in self.also), *filter(None, [self.note])]
        said = [textwrap.indent(textwrap.fill(text, 96), "  ") for text in said]
        return "\n".join([textwrap.fill(self.headline, 98), *said, self.table()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        color = BLUE if self.ok else VERMILLION  # the words say the same
        style = f"border: 1px solid {color}; border-left: 6px solid {color}; padding: 8px 14px"
        return f'<pre style="{style}">{escape(str(self))}</pre>'


def judge(one_device: Step, ranks: Step | Sequence[Step]) -> Judgment:
    """Compare the step of each rank with one device's, and name the mistake.

    one_device: from `one_step`. ranks: one Step for each rank that holds the whole model, or the
    one Step that `gather` made of the stages of a pipeline; all have as many micro-batches, and
    rank 0 has the first ones.
    """
    raw = (ranks,) if isinstance(ranks, Step) else tuple(ranks)
    if not raw:
        raise ValueError("there is nothing to judge: give the Step of each rank")
    evidence = Evidence(one_device, raw)
    mistake, *also = name_mistakes(evidence) or [None]
    return Judgment(mistake, tuple(also), _note(evidence), _rows(evidence), len(raw))


def _note(evidence: Evidence) -> str:
    """Words where an adaptive optimizer hides what is wrong, or makes much of rounding."""
    e = evidence.expected
    if evidence.adaptive and evidence.knows_weights and not all(evidence.gradients):
        return (
            f"Only weights were compared, after {e.optimizer}, which hides a factor on the "
            "gradients: compare gradients too, or take SGD."
        )
    if evidence.adaptive and evidence.knows_weights and e.before and evidence.times is not None:
        pairs = [(e.after[n], r.after[n]) for r in evidence.ranks for n in e.after if n in r.after]
        apart = max((distance(right, held) for right, held in pairs), default=0.0)
        moved = max(distance(e.before[n], e.after[n]) for n in e.after)
        if apart <= 0.1 * abs(evidence.times - 1) * moved:
            return (
                f"The weights don't show it: they are {apart:.1g} off, and the step moved them by "
                f"{moved:.1g}. {e.optimizer} divides each gradient by its own size, so a factor on "
                "all of them disappears. Judge the gradients, or take SGD."
            )
    if len(evidence.wrong_weights) < len(evidence.differing["after"]):
        return (
            "Some weights differ though their gradients are right, and count as right: this "
            "optimizer divides each gradient by its own size, so where one is nearly zero its "
            "rounding decides."
        )
    return ""


def _rows(evidence: Evidence) -> tuple[Comparison, ...]:
    rows = []
    for kind, word in {"gradients": "gradient", "after": "weight"}.items():
        found = evidence.wrong_weights if kind == "after" else evidence.differing[kind]
        wrong = {(rank, d.name): d for rank, d in found}
        for name, tensor in getattr(evidence.expected, kind).items():
            shown, each = " = ".join(evidence.expected.ties.get(name, (name,))), []
            for rank, held in enumerate(getattr(step, kind) for step in evidence.ranks):
                d = wrong.get((rank, name))
                facts = math.inf, 0.0, 0.0
                if not d or d.kind == "value":
                    if not held or tensor is None:
                        continue
                    allowed = TOLERANCES.get(tensor.dtype, 0.0)
                    facts = distance(tensor, held[name]), largest(tensor), allowed
                each.append(Comparison(word, shown, rank, *facts, not d, d.text if d else ""))
            rows += sorted(each, key=lambda row: (not row.ok, row.relative))[-1:]
    return tuple(rows)
