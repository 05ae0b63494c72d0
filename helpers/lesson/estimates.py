"""`estimate`: the reader predicts a number and says how sure they are; `settle` compares.

A number with a range is a bolder prediction than a choice: the narrower the range, the more it says
when it holds. The score is the size of the error in powers of two, |log2(guess / measured)|, which
doesn't depend on the unit; what is kept is enough for a class to compare them over a term.
"""

import math
import re
import sys
from html import escape

from helpers.grade.record import note_estimate
from helpers.lesson.asked import ID
from helpers.lesson.questions import BOX
from helpers.lesson.shown import Shown, put, static
from helpers.ranks.pool import in_notebook
from helpers.record import noted

# How sure one can be: what it's called, and the factor by which the range goes up and down.
WITHIN = {"10 %": 1.1, "25 %": 1.25, "a factor of 2": 2.0, "a factor of 10": 10.0}
TYPED = re.compile(r"\s*([0-9][0-9_,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+)\s*(?:,?\s*(\d))?\s*")


def estimate(question_id: str, question: str, unit: str) -> None:
    """Ask the reader for a number and a range before the next cell runs; both are remembered.

    Args:
        question_id: such as "micro_batches-1".
        question: what is asked.
        unit: what the number counts: "s", "bytes".

    Raises:
        ValueError: for a wrong id, or without a question or a unit.
    """
    if not ID.fullmatch(question_id):
        raise ValueError(f"a question is called like 'micro_batches-1', not {question_id!r}")
    if not question.strip() or not unit.strip():
        raise ValueError(f"estimate({question_id!r}, …) needs a question and a unit")
    if in_notebook() and not static():
        from helpers.lesson.buttons import Guess

        put(Guess(question_id, question, unit, WITHIN))
        return
    put(asked_for(question, unit))
    if sys.stdin is not None and sys.stdin.isatty() and not static():
        ways = ", ".join(f"{n} {name}" for n, name in enumerate(WITHIN, 1))
        text = input(f"Your number, and how sure ({ways}), such as 4.2 3: ").strip()
        typed = TYPED.fullmatch(text)
        if typed and (guess := number(typed[1])):
            chosen = min(max(int(typed[2] or 3), 1), len(WITHIN))
            note_estimate(question_id, guess, [*WITHIN.values()][chosen - 1])
        elif text:
            print(f"{text!r} is not a number above 0 and one of 1 to {len(WITHIN)}: not remembered")


def asked_for(question: str, unit: str) -> Shown:
    """Return the question as a page without a kernel shows it."""
    *others, last = WITHIN
    ranges = f"{', '.join(others)} or {last}"
    words = f"{question} Write down a number ({unit}), and how sure you are: within {ranges}."
    html = f'<div style="{BOX}"><b>Estimate.</b> {escape(words)}</div>'
    return Shown(html, f"Estimate: {words}")


def number(text: str) -> float | None:
    """Return what was typed as a positive number, or None: "1,200" is 1200."""
    try:
        value = float(text.replace(",", "").replace("_", ""))
    except ValueError:
        return None
    return value if 0 < value < math.inf else None


def settle(question_id: str, measured: float, unit: str, because: str = "") -> None:
    """Say how far the reader's estimate was from what has been measured, and why it came out so.

    Args:
        question_id: of the estimate.
        measured: the number, above 0.
        unit: as in `estimate`.
        because: how one gets there.
    """
    put(settled(question_id, measured, unit, because))


def settled(question_id: str, measured: float, unit: str, because: str) -> Shown:
    """Return what `settle` shows."""
    facts = noted("estimates").get(question_id, {})
    guess, within = facts.get("guess"), facts.get("within")
    words = f"It's {written(measured)} {unit}."
    if guess and within:
        error = abs(math.log2(guess / measured))
        held = error <= math.log2(within) * (1 + 1e-9)
        note_estimate(question_id, guess, within, error)
        name = next((name for name, factor in WITHIN.items() if factor == within), "your range")
        ratio = max(guess / measured, measured / guess)
        size = "large" if guess > measured else "small"
        off = "exactly" if ratio < 1.005 else f"{ratio:.2g} times too {size}"
        words = (
            f"You said {written(guess)} {unit}, within {name}; it's {written(measured)} {unit}. "
            f"Your number is {off}, and your range {'holds' if held else 'does not hold'}."
        ).replace("is exactly", "is right")
    text = f"{words} {because}".rstrip()
    return Shown(f'<div style="{BOX}">{escape(text)}</div>', text)


def written(value: float) -> str:
    """Return a number with three digits that count: 1,240,000 or 0.0312."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
