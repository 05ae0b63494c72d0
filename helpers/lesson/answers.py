"""`answer`: an exercise whose answer is a number, compared with the computed one."""

import math
from collections.abc import Callable

from helpers.lesson.shown import Shown, put


def answer(mine: float | None, found: Callable[[], float], tolerance: float = 0.0) -> None:
    """Compare the reader's answer with the machine's, and show the verdict.

    mine: the reader's number, or None before the reader has answered.
    found: computes the right number; it is not called before the reader has answered.
    tolerance: the largest absolute error that still counts as right.
    """
    put(verdict(mine, found, tolerance))


def verdict(mine: float | None, found: Callable[[], float], tolerance: float = 0.0) -> Shown:
    """Return the sentence that `answer` shows."""
    if mine is None:
        return _sentence("?", "Not answered yet: write your number in place of None.")
    if isinstance(mine, bool) or not isinstance(mine, int | float) or math.isnan(mine):
        return _sentence("?", f"Your answer must be a number, but {mine!r} is not.")
    right = found()
    if math.isclose(mine, right, rel_tol=1e-9, abs_tol=tolerance):
        return _sentence("✓", f"Right: {_number(right)}.")
    return _sentence("✗", f"Not yet: you wrote {_number(mine)}, the machine found another number.")


def _number(value: float) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"


def _sentence(mark: str, text: str) -> Shown:
    return Shown(f"<p><b>{mark}</b>&nbsp; {text}</p>", f"{mark} {text}")
