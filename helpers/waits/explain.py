"""A deadlock as a reader gets it: one sentence."""

from collections.abc import Sequence

from helpers.waits.graph import Deadlock, Wait
from helpers.words import names

MOST_TOLD = 4  # this many waits of a long cycle are named one by one


def sentence(deadlock: Deadlock) -> str:
    """Return one sentence: who waits for whom, in what, at which line."""
    if cycle := deadlock.cycle:
        after = cycle[1:] + cycle[:1]
        told = [_wait(wait, [other.who]) for wait, other in zip(cycle, after, strict=True)]
        if len(told) > MOST_TOLD:
            more = len(told) - MOST_TOLD + 1
            told = [*told[: MOST_TOLD - 1], f"so on through {more} more, back to the first"]
        if len(cycle) == 1:
            return f"{told[0]}, which is itself: it can never go on"
        return f"{', '.join(told[:-1])}, and {told[-1]}: none of them can go first"
    told = []
    for wait in deadlock.core[:MOST_TOLD]:
        gone = [who for who in wait.needs if who in deadlock.ended]
        verb = "has ended" if len(gone) == 1 else "have ended"
        told.append(f"{_wait(wait, gone)}, which {verb} already")
    return "; ".join(told)


def _wait(wait: Wait, for_whom: Sequence[int]) -> str:
    what = ", ".join(part for part in (wait.doing and f"it {wait.doing}", wait.where) if part)
    return f"rank {wait.who} waits for {names(for_whom)}" + (f" ({what})" if what else "")
