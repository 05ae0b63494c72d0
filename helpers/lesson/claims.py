"""What a lesson says about its own measurements: two numbers and a tolerance, in sight.

    claim("backward takes twice as long as forward", measured, 2)          they agree
    claim.below("the loss has fallen", after, before)                      one is smaller
    claim.same("the fastest way for 400 floats", best[400], "tree")        a fact

When a lesson is built, a claim that doesn't hold ends the build. A student reads both numbers, and
goes on: on another machine, or beside other programs, seconds may come out otherwise.
"""

import os
from collections.abc import Callable
from typing import Any

WIDEST = 0.15  # of a claim that gives no reason
TRIES = 3  # of a measurement that can be repeated: the machine may do something else meanwhile


def in_a_hurry() -> bool:
    """Return whether this run only walks through the lesson, with few steps (LAB_QUICK=1)."""
    return os.environ.get("LAB_QUICK") == "1"


class Measured(float):
    """A number that a cell which ends in its claim doesn't show once more."""

    def _ipython_display_(self) -> None:
        pass


def claim(
    sentence: str,
    measured: float | Callable[[], float],
    predicted: float,
    within: float = WIDEST,
    because: str = "",
    unit: str = "",
    how: str = "measured",
) -> float:
    """Say that a measured number is the predicted one; return the measured one.

    Args:
        measured: a number, or a function that measures. It's called again, twice at most, if what
            it measured doesn't hold; the line then shows every try, and the last one counts.
        within: how far off it may be, as a share of the prediction.
        because: why it may be further off than 15 %; a reader sees it.
        unit: of both numbers, as in " s".
        how: where the first number comes from, if nobody measured it: "simulated", "published".

    Raises:
        AssertionError: it doesn't hold, and the lesson is being built.
        ValueError: it may be more than 15 % off, and says no reason.
    """
    if within > WIDEST and not because:
        raise ValueError(f"a claim that may be {within:.0%} off says why: because=…")
    if predicted == 0:
        raise ValueError("nothing is a share of 0: say claim.below(sentence, measured, tolerance)")
    tries = [measured() if callable(measured) else measured]
    most = TRIES if callable(measured) and not in_a_hurry() else 1
    while abs(tries[-1] / predicted - 1) > within and len(tries) < most:
        tries.append(measured())
    last = tries[-1]
    off = last / predicted - 1
    room = f"{off:+.1%}, at most {within:.0%}" if within else "exactly"
    room += f": {because}" if because else ""
    found = ", then ".join(_shown(one) for one in tries)
    line = f"{sentence}: predicted {_shown(predicted)}{unit}, {how} {found}{unit} ({room})"
    _say(line, abs(off) <= within)
    return Measured(last)


def _below(sentence: str, smaller: float, larger: float, spread: float = 0.0) -> None:
    """Say that one number lies below another, by more than both spread.

    Args:
        spread: how far the two vary from run to run, as a share of the larger one: 0 for counts,
            and for losses and differences that come from seeds.

    Raises:
        AssertionError: it doesn't, and the lesson is being built.
    """
    clear = f" by more than the {spread:.0%} that they vary" if spread else ""
    line = f"{sentence}: {_shown(smaller)}, below {_shown(larger)}{clear}"
    _say(line, smaller < larger * (1 - spread))


def _same(sentence: str, found: Any, expected: Any = True) -> None:
    """Say a fact that either is so or isn't; if not, AssertionError while the lesson is built."""
    line = sentence if expected is True else f"{sentence}: {_shown(found)}"
    _say(line, found == expected)


claim.below, claim.same = _below, _same


def _say(line: str, holds: bool) -> None:
    """Print the line; one that doesn't hold ends the build of its lesson."""
    if not holds and not in_a_hurry():
        if os.environ.get("LAB_STATIC") == "1":
            raise AssertionError(f"this lesson claims what was not measured: {line}")
        line += ". Here it isn't so, as it was when this lesson was built"
    print(line)


def _shown(value: Any) -> str:
    """A number as one reads it: 1,240,000 or 0.0312 or 3.1e-09; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.1e}"
