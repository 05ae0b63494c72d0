"""`predict` and `reveal`: the reader commits to a choice, and a later cell says what is right.
`answer`: a question for a number, whose truth isn't in the lesson; a known slip is named."""

import math
import sys
from collections.abc import Sequence
from html import escape
from string import ascii_uppercase

from helpers.draw.style import BLUE
from helpers.lesson.asked import ID, Number, Prediction, asked, with_values
from helpers.lesson.shown import PREDICT, REVEAL, Shown, put, static
from helpers.ranks.pool import in_notebook
from helpers.record import note, noted

MOST = 5
BOX = f"border: 1px solid {BLUE}; border-left: 6px solid {BLUE}; padding: 8px 14px"


def predict(question_id: str, question: str, *choices: str) -> None:
    """Ask the reader to choose before the next cell runs; the choice is remembered.

    In a notebook the choices are buttons, in a terminal their letters can be typed, and without a
    kernel they are a list.

    Args:
        question_id: such as "micro_batches-1"; the answer is in tasks/answers/.
        question: what is asked.
        choices: two to five.

    Raises:
        ValueError: for a wrong id, an empty question, or too few or too many choices.
    """
    if not ID.fullmatch(question_id):
        raise ValueError(f"a question is called like 'micro_batches-1', not {question_id!r}")
    if not question.strip():
        raise ValueError(f"predict({question_id!r}, …) has no question")
    if not 2 <= len(choices) <= MOST:
        raise ValueError(
            f"predict({question_id!r}, …) needs 2 to {MOST} choices, not {len(choices)}"
        )
    if in_notebook() and not static():
        from helpers.lesson.buttons import Choices

        put(Choices(question_id, question, choices))
        return
    put(listed(question_id, question, choices))
    if sys.stdin is not None and sys.stdin.isatty() and not static():
        typed = input("Your choice (a letter, or Enter to go on): ").strip().upper()
        if typed and typed in ascii_uppercase[: len(choices)]:
            note("predictions", question_id, {"chosen": typed, "right": None})


def listed(question_id: str, question: str, choices: Sequence[str]) -> Shown:
    """Return the question with lettered choices, as a page without a kernel shows it."""
    lettered = list(zip(ascii_uppercase, choices, strict=False))
    plain = "\n".join([f"Predict: {question}", *(f"  {a}) {text}" for a, text in lettered)])
    rows = "".join(f"<div><b>{a}</b>&nbsp; {escape(text)}</div>" for a, text in lettered)
    html = (
        f'<div style="{BOX}"><div><b>Predict.</b> {escape(question)}</div>'
        f'<div style="margin: 6px 0px 0px 18px">{rows}</div></div>'
    )
    asks = {"id": question_id, "question": question, "choices": lettered}
    return Shown(html, plain, {PREDICT: asks})


def reveal(question_id: str, **measured: object) -> None:
    """Say what the right choice was, why, and why the reader's wasn't.

    Args:
        question_id: of the prediction.
        measured: values that the truth refers to.
    """
    put(revealed(question_id, measured))


def revealed(question_id: str, measured: dict[str, object]) -> Shown:
    """Return what `reveal` shows; without a prediction the answer is folded."""
    truth = asked(question_id, Prediction)
    right, because = with_values(truth.right, measured), truth.because.format(**measured)
    chosen = noted("predictions").get(question_id, {}).get("chosen")
    if chosen not in {*truth.wrong, right}:
        text = f"It's {right}: {because}"
        html = (
            f'<details style="{BOX}"><summary><b>The answer</b></summary>'
            f"<div>{escape(text)}</div></details>"
        )
        wrong = {letter: why.format(**measured) for letter, why in sorted(truth.wrong.items())}
        answers = {"id": question_id, "right": right, "because": because, "wrong": wrong}
        return Shown(html, f"The answer: {text}", {REVEAL: answers})
    note("predictions", question_id, {"chosen": chosen, "right": chosen == right})
    if chosen == right:
        parts = [f"You said {right}, and {right} it is:", because]
    else:
        why = truth.wrong[chosen].format(**measured)
        parts = [f"You said {chosen}; it's {right}:", because, f"Why not {chosen}? {why}"]
    html = f'<div style="{BOX}"><b>{escape(parts[0])}</b> {escape(" ".join(parts[1:]))}</div>'
    return Shown(html, " ".join(parts))


def answer(question_id: str, mine: float | None, **measured: object) -> None:
    """Compare the reader's number with the truth, and say what is wrong with it.

    Args:
        question_id: such as "micro_batches-3"; the answer is in tasks/answers/.
        mine: the reader's number, or None before the reader has answered.
        measured: values that the truth depends on.
    """
    mark, words = verdict(question_id, mine, measured)
    put(Shown(f"<p><b>{mark}</b>&nbsp; {words}</p>", f"{mark} {words}"))


def verdict(question_id: str, mine: float | None, measured: dict[str, object]) -> tuple[str, str]:
    """Return the mark and the sentence that `answer` shows."""
    found = asked(question_id, Number)
    if mine is None:
        return "?", "Not answered yet: write your number in place of None."
    if isinstance(mine, bool) or not isinstance(mine, int | float) or math.isnan(mine):
        return "?", f"Your answer must be a number, but {mine!r} is not."
    truth = with_values(found.truth, measured)
    right = _close(mine, truth, found.tolerance)
    tries = noted("numbers").get(question_id, {}).get("tries", 0)
    note("numbers", question_id, {"tries": tries + 1, "right": right})
    if right:
        words = f"Right: {_number(truth)} {found.unit}".rstrip() + "."
        return "✓", f"{words} {found.because.format(**measured)}".rstrip()
    for slip, diagnosis in found.slips.items():
        if _close(mine, slip, min(found.tolerance, abs(slip - truth) / 4)):
            return "✗", f"Not yet: {diagnosis}"
    return "✗", f"Not yet: {_number(mine)} is too {'large' if mine > truth else 'small'}."


def _close(mine: float, other: float, tolerance: float) -> bool:
    return math.isclose(mine, other, rel_tol=1e-9, abs_tol=tolerance)


def _number(value: float) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
