"""`answer`: a question for a number. The truth isn't in the lesson, and a known slip is named."""

import math

from helpers.lesson.asked import Number, asked, with_values
from helpers.lesson.shown import Shown, put
from helpers.record import note, noted


def answer(question_id: str, mine: float | None, **measured: object) -> None:
    """Compare the reader's number with the truth, and say what is wrong with it.

    Args:
        question_id: such as "micro_batches-3"; the answer is in tasks/answers/.
        mine: the reader's number, or None before the reader has answered.
        measured: values that the truth depends on.
    """
    put(verdict(question_id, mine, measured))


def verdict(question_id: str, mine: float | None, measured: dict[str, object]) -> Shown:
    """Return the sentence that `answer` shows."""
    found = asked(question_id, Number)
    if mine is None:
        return _sentence("?", "Not answered yet: write your number in place of None.")
    if isinstance(mine, bool) or not isinstance(mine, int | float) or math.isnan(mine):
        return _sentence("?", f"Your answer must be a number, but {mine!r} is not.")
    truth = with_values(found.truth, measured)
    right = _close(mine, truth, found.tolerance)
    tries = noted("numbers").get(question_id, {}).get("tries", 0)
    note("numbers", question_id, {"tries": tries + 1, "right": right})
    if right:
        words = f"Right: {_number(truth)} {found.unit}".rstrip() + "."
        return _sentence("✓", f"{words} {found.because.format(**measured)}".rstrip())
    for slip, diagnosis in found.slips.items():
        if _close(mine, slip, min(found.tolerance, abs(slip - truth) / 4)):
            return _sentence("✗", f"Not yet: {diagnosis}")
    size = "too large" if mine > truth else "too small"
    return _sentence("✗", f"Not yet: {_number(mine)} is {size}.")


def _close(mine: float, other: float, tolerance: float) -> bool:
    return math.isclose(mine, other, rel_tol=1e-9, abs_tol=tolerance)


def _number(value: float) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"


def _sentence(mark: str, text: str) -> Shown:
    return Shown(f"<p><b>{mark}</b>&nbsp; {text}</p>", f"{mark} {text}")
