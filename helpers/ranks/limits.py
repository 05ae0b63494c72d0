"""What a launch may be asked for; and that no rank starts ranks of its own."""

import math
import os

from helpers.ranks.place import usable_cores

MOST_RANKS = 64


def check_limits(ranks: int, timeout: float) -> None:
    """Raise ValueError, with one sentence, for a number of ranks or seconds that cannot be."""
    if not isinstance(ranks, int) or isinstance(ranks, bool) or not 1 <= ranks <= MOST_RANKS:
        cores = usable_cores()
        raise ValueError(
            f"ranks must be a whole number from 1 to {MOST_RANKS}, not {ranks!r} "
            f"(this machine has {cores} core{'s' * (cores != 1)})"
        )
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not timeout > 0 or math.isinf(timeout):
        raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")


def not_inside_a_rank() -> None:
    """Raise RuntimeError where this process is a rank itself."""
    if "LAB_RANK" in os.environ:
        raise RuntimeError(
            f"this code runs inside rank {os.environ['LAB_RANK']} already, and a rank cannot start "
            "ranks: call launch() or %%ranks from the notebook, outside of the function"
        )
