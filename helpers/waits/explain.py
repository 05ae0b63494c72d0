"""A deadlock as a reader gets it: one sentence, and a picture with an arrow for each wait."""

from collections.abc import Collection, Sequence

from helpers.waits.graph import Deadlock, Wait, find_deadlock

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


def names(numbers: Sequence[int]) -> str:
    """Return the ranks in words: [1] -> "rank 1"; [0, 2] -> "ranks 0 and 2"."""
    numbers = list(numbers)
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    return f"ranks {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def capital(text: str) -> str:
    """Return a text as it begins a sentence."""
    return text[:1].upper() + text[1:]


def _wait(wait: Wait, for_whom: Sequence[int]) -> str:
    what = ", ".join(part for part in (wait.doing and f"it {wait.doing}", wait.where) if part)
    return f"rank {wait.who} waits for {names(for_whom)}" + (f" ({what})" if what else "")


def picture(
    waits: Sequence[Wait],
    ended: Collection[int] = (),
    others: dict[int, str] | None = None,
    title: str = "",
    theme: str = "light",
):
    """Return a `Picture` of who waits for whom; the waits of the deadlock stand out.

    Args:
        waits: who waits for whom.
        ended: the ranks that have ended.
        others: what the ranks do that neither wait nor have ended.
        title: what was found; computed by default.
        theme: "light" or "dark".
    """
    from helpers.draw import Arrow, Node, arcs  # the sentence is asked for without it

    deadlock = find_deadlock(waits, ended)
    rows = {w.who: Node(f"rank {w.who}", w.doing, w.where, w.line) for w in waits}
    rows |= {who: Node(f"rank {who}", "has ended", faded=True) for who in ended}
    rows |= {who: Node(f"rank {who}", doing, faded=True) for who, doing in (others or {}).items()}
    for who in {n for wait in waits for n in wait.needs} - set(rows):
        rows[who] = Node(f"rank {who}", "goes on", faded=True)
    order = sorted(rows)
    core = {wait.who for wait in deadlock.core} if deadlock else set()
    blame = core | set(deadlock.ended) if deadlock else set()
    arrows = [
        Arrow(order.index(wait.who), order.index(n), wait.who in core and n in blame)
        for wait in waits
        for n in wait.needs
    ]
    found = sentence(deadlock) if deadlock else "every wait can still end"
    alt = f"Who waits for whom. {found}. " + " ".join(map(_in_words, waits))
    return arcs([rows[who] for who in order], arrows, title or _found(deadlock), alt, theme)


def _found(deadlock: Deadlock | None) -> str:
    if deadlock is None:
        return "No deadlock"
    if deadlock.cycle:
        who = [wait.who for wait in deadlock.cycle]
        if len(who) == 1:
            return f"Deadlock: rank {who[0]} waits for itself"
        return f"Deadlock: {names(who)} wait for each other in a circle"
    stuck = [wait.who for wait in deadlock.core]
    waits = "waits" if len(stuck) == 1 else "wait"
    have = "has" if len(deadlock.ended) == 1 else "have"
    return f"{names(stuck)} {waits} for {names(deadlock.ended)}, which {have} ended"


def _in_words(wait: Wait) -> str:
    doing = f"{wait.doing} {wait.where}".strip()
    return f"rank {wait.who} {doing}, and waits for {names(wait.needs)}."
