"""Judge the step of any layout against one device's; the judgment as text and as a table."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from helpers.draw.style import BLUE, VERMILLION
from helpers.oracle.compare import TOLERANCES, Tensors, distance
from helpers.oracle.evidence import Evidence, aligned
from helpers.oracle.mistakes import name_mistakes
from helpers.oracle.step import Step
from helpers.words import many

KINDS = {"gradients": "gradient", "after": "weight"}
HEADS = ("", "what", "tensor", "rank", "difference", "allowed")
MOST_ROWS = 20


@dataclass(frozen=True)
class Comparison:
    """One tensor, on the rank where it is furthest off.

    kind: "gradient" or "weight" (after the step). name: all of its names, as "embed.weight =
    head.weight". error: the largest distance of an entry. scale: the largest entry expected.
    allowed: the tolerance, relative to scale. text: what is wrong; empty where it is right.
    """

    kind: str
    name: str
    rank: int
    error: float
    scale: float
    allowed: float
    ok: bool
    text: str = ""

    @property
    def relative(self) -> float:
        """The error, relative to the largest entry; where all should be zero, the error itself."""
        return self.error / self.scale if self.scale else self.error

    @property
    def cells(self) -> tuple[str, ...]:
        """What a table shows of it, under `HEADS`."""
        word, numbers = "right" if self.ok else "WRONG", (self.relative, self.allowed)
        far, allowed = (f"{number:.0e}" for number in numbers)
        return (word, self.kind, self.name, str(self.rank), far, allowed)


@dataclass(frozen=True, repr=False)
class Judgment:
    """What `judge` found; as the last value of a cell, a notebook shows it.

    mistake: one sentence, or None for a right step; also: others that explain the same facts. note:
    what the comparison can't see, or empty. rows: every tensor, in the model's order.
    """

    mistake: str | None
    also: tuple[str, ...]
    note: str
    rows: tuple[Comparison, ...]
    ranks: int

    @property
    def ok(self) -> bool:
        return self.mistake is None

    @property
    def worst(self) -> Comparison | None:
        """The tensor that is furthest off, relative to what its dtype allows."""
        rows = [row for row in self.rows if not row.ok] or self.rows
        return max(rows, key=lambda row: row.relative / (row.allowed or 1.0), default=None)

    @property
    def headline(self) -> str:
        """One line: how many tensors, on how many ranks, and how far off."""
        wrong = sum(not row.ok for row in self.rows)
        ranks = f" on {self.ranks} ranks" if self.ranks > 1 else ""
        if self.ok:
            worst = f"; the largest difference is {self.worst.relative:.1e}" if self.rows else ""
            right = "is that" if len(self.rows) == 1 else "are those"
            return f"RIGHT: {many(len(self.rows), 'tensor')}{ranks} {right} of one device{worst}"
        if not wrong:
            return f"WRONG: the tensors{ranks} are not those of one device's model"
        return f"WRONG: {wrong} of {len(self.rows)} tensors{ranks} are not those of one device"

    def table(self, most: int = MOST_ROWS) -> str:
        """Return the tensors as plain text: those that are wrong first, then the others."""
        rows = sorted(self.rows, key=lambda row: row.ok)
        lines = [HEADS, *(row.cells for row in rows[:most])]
        wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = ["  ".join(map(str.ljust, line, wide)).rstrip() for line in lines]
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


def judge(
    one_device: Step, ranks: Step | Sequence[Step], previous: Step | Tensors | None = None
) -> Judgment:
    """Compare the step of each rank with one device's, and name the mistake.

    one_device: from `one_step`. ranks: one Step for each rank that holds the whole model, or the
    one Step that `gather` made of the stages of a pipeline; all have as many micro-batches, and
    rank 0 has the first ones. previous: the gradients of the step before, where a stale buffer may
    be found.
    """
    raw = (ranks,) if isinstance(ranks, Step) else tuple(ranks)
    if not raw:
        raise ValueError("there is nothing to judge: give the Step of each rank")
    evidence = Evidence(
        expected=one_device,
        ranks=tuple(aligned(one_device, rank) for rank in raw),
        raw=raw,
        shares=_shares(len(one_device.parts), len(raw)),
        previous=previous.gradients if isinstance(previous, Step) else previous,
    )
    sentences = name_mistakes(evidence)
    mistake, also = (sentences[0], tuple(sentences[1:])) if sentences else (None, ())
    noise = len(evidence.wrong_weights) < len(evidence.differing["after"])
    note = _hidden(evidence) or (_NOISE if noise else "")
    return Judgment(mistake, also, note, _rows(evidence), len(raw))


_NOISE = (
    "Some weights differ though their gradients are right, and count as right: this optimizer "
    "divides each gradient by its own size, so where one is nearly zero its rounding decides."
)


def _shares(parts: int, ranks: int) -> tuple[tuple[int, ...], ...] | None:
    if not parts or parts % ranks:
        return None
    each = parts // ranks
    return tuple(tuple(range(r * each, (r + 1) * each)) for r in range(ranks))


def _hidden(evidence: Evidence) -> str:
    """Words where the weights don't show what is wrong with the gradients."""
    e = evidence.expected
    if not evidence.knows_weights or not e.before:
        return ""
    if evidence.adaptive and not all(evidence.gradients):
        return (
            f"Only weights were compared, after {e.optimizer}, which hides a factor on the "
            "gradients: compare gradients too, or take SGD."
        )
    if evidence.times is None:
        return ""
    pairs = [(e.after[n], r.after[n]) for r in evidence.ranks for n in e.after if n in r.after]
    apart = max((distance(right, held)[0] for right, held in pairs), default=0.0)
    moved = max(distance(e.before[n], e.after[n])[0] for n in e.after)
    if apart > 0.1 * abs(evidence.times - 1) * moved:
        return ""
    name = e.optimizer if evidence.adaptive else "the optimizer"
    return (
        f"The weights don't show it: they are {apart:.1g} off, and the step moved them by "
        f"{moved:.1g}. {name} divides each gradient by its own size, so a factor on all of them "
        "disappears. Judge the gradients, or take SGD."
    )


def _rows(evidence: Evidence) -> tuple[Comparison, ...]:
    """For each tensor the rank where it is furthest off."""
    rows = []
    for kind, word in KINDS.items():
        found = evidence.wrong_weights if kind == "after" else evidence.differing[kind]
        wrong = {(rank, d.name): d for rank, d in found}
        for name, tensor in getattr(evidence.expected, kind).items():
            shown = " = ".join(evidence.expected.ties.get(name, (name,)))
            found = [
                _row(word, shown, rank, tensor, held.get(name), wrong.get((rank, name)))
                for rank, held in enumerate(getattr(step, kind) for step in evidence.ranks)
                if held and (tensor is not None or (rank, name) in wrong)
            ]
            rows += sorted(found, key=lambda row: (not row.ok, row.relative))[-1:]
    return tuple(rows)


def _row(word, shown, rank, tensor, held, difference) -> Comparison:
    if difference and difference.kind != "value":
        return Comparison(word, shown, rank, float("inf"), 0.0, 0.0, False, difference.text)
    text = difference.text if difference else ""
    allowed = TOLERANCES.get(tensor.dtype, 0.0)
    return Comparison(word, shown, rank, *distance(tensor, held), allowed, not text, text)
