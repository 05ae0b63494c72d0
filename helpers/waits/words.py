"""A deadlock in words."""

from collections.abc import Sequence

from helpers.waits.graph import Deadlock, Wait

MOST_TOLD = 4  # this many waits of a long cycle are named one by one


def sentence(deadlock: Deadlock, name: str = "rank") -> str:
    """Return one sentence: who waits for whom, in what, at which line.

    name: what the `who` of a wait is called.
    """
    if deadlock.cycle:
        told = [
            _wait(wait, _next(deadlock.cycle, i), name) for i, wait in enumerate(deadlock.cycle)
        ]
        if len(told) > MOST_TOLD:
            more = len(told) - MOST_TOLD + 1
            told = [*told[: MOST_TOLD - 1], f"so on through {more} more, back to the first"]
        if len(deadlock.cycle) == 1:
            return f"{told[0]}, which is itself: it can never go on"
        return f"{_joined(told)}: none of them can go first"
    told = []
    for wait in deadlock.core[:MOST_TOLD]:
        gone = [who for who in wait.needs if who in deadlock.ended]
        verb = "has ended" if len(gone) == 1 else "have ended"
        told.append(f"{_wait(wait, gone, name)}, which {verb} already")
    return "; ".join(told)


def names(numbers: Sequence[int], name: str = "rank") -> str:
    """Return the ranks in words: [1] -> "rank 1"; [0, 2] -> "ranks 0 and 2"."""
    numbers = list(numbers)
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    return f"{name}s {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def capital(text: str) -> str:
    """Return a text as it begins a sentence."""
    return text[:1].upper() + text[1:]


def _next(cycle: Sequence[Wait], index: int) -> list[int]:
    return [cycle[(index + 1) % len(cycle)].who]


def _wait(wait: Wait, for_whom: Sequence[int], name: str) -> str:
    what = ", ".join(
        part for part in (f"it {wait.doing}" if wait.doing else "", wait.where) if part
    )
    return f"{name} {wait.who} waits for {names(for_whom, name)}" + (f" ({what})" if what else "")


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"
