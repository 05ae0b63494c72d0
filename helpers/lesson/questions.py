"""`predict` and `reveal`: the reader commits to a choice, and the answering cell refers to it.

A choice's key is its letter in the source: with it stand the reasons, and with it a choice is
remembered. The letter that a reader sees is another one, since the choices are shuffled: for each
student in an order of their own, and on a page without a kernel in one that each question has.
"""

import random
import sys
from collections.abc import Sequence
from html import escape
from string import ascii_uppercase

from helpers.draw.style import BLUE
from helpers.lesson.asked import ID, Prediction, asked, with_values
from helpers.lesson.shown import PREDICT, REVEAL, Shown, put, static
from helpers.ranks.pool import in_notebook
from helpers.record import note, noted, progress_file

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

        put(Choices(question_id, question, choices, keys_in_order(question_id, len(choices))))
        return
    keys = keys_in_order(question_id, len(choices))
    put(listed(question_id, question, [choices[ascii_uppercase.index(key)] for key in keys]))
    if sys.stdin is not None and sys.stdin.isatty() and not static():
        typed = input("Your choice (a letter, or Enter to go on): ").strip().upper()
        if typed and typed in ascii_uppercase[: len(choices)]:
            key = keys[ascii_uppercase.index(typed)]
            note("predictions", question_id, {"chosen": key, "right": None})


def keys_in_order(question_id: str, count: int) -> str:
    """Return the keys of a question's choices in the order in which they are shown: "CAB"."""
    whose = "" if static() else str(progress_file() or "")
    order = random.Random(f"{question_id} {whose}".strip())
    return "".join(order.sample(ascii_uppercase[:count], count))


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
    key = with_values(truth.right, measured)
    keys = {*truth.wrong, key}
    letter = dict(zip(keys_in_order(question_id, len(keys)), ascii_uppercase, strict=False))
    right, because = letter[key], truth.because.format(**measured)
    if truth.here and with_values(truth.here, measured) != key:
        because += " " + truth.unless.format(**measured)
    chosen = noted("predictions").get(question_id, {}).get("chosen")
    if chosen not in keys:
        text = f"It's {right}: {because}"
        html = (
            f'<details style="{BOX}"><summary><b>The answer</b></summary>'
            f"<div>{escape(text)}</div></details>"
        )
        wrong = {letter[k]: why.format(**measured) for k, why in sorted(truth.wrong.items())}
        answers = {"id": question_id, "right": right, "because": because, "wrong": wrong}
        return Shown(html, f"The answer: {text}", {REVEAL: answers})
    note("predictions", question_id, {"chosen": chosen, "right": chosen == key})
    if chosen == key:
        parts = [f"You said {right}, and {right} it is:", because]
    else:
        said = letter[chosen]
        why = truth.wrong[chosen].format(**measured)
        parts = [f"You said {said}; it's {right}:", because, f"Why not {said}? {why}"]
    html = f'<div style="{BOX}"><b>{escape(parts[0])}</b> {escape(" ".join(parts[1:]))}</div>'
    return Shown(html, " ".join(parts))
