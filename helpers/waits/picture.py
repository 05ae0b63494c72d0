"""The wait-for graph as a picture: each rank a row with its code, each wait an arrow."""

from collections.abc import Collection, Sequence

from helpers.draw import Arrow, Picture, Row, arcs
from helpers.waits.graph import Deadlock, Wait, find_deadlock
from helpers.waits.words import names, sentence


def picture(
    waits: Sequence[Wait],
    ended: Collection[int] = (),
    others: dict[int, str] | None = None,
    title: str = "",
    name: str = "rank",
    theme: str = "light",
) -> Picture:
    """Draw who waits for whom; the waits of the deadlock stand out.

    Args:
        waits: who waits for whom.
        ended: the ranks that have ended.
        others: what the ranks do that neither wait nor have ended.
        title: what was found; computed by default.
        name: what the `who` of a wait is called.
        theme: "light" or "dark".
    """
    deadlock = find_deadlock(waits, ended)
    rows = {w.who: Row(f"{name} {w.who}", w.doing, w.where, w.line) for w in waits}
    rows |= {who: Row(f"{name} {who}", "has ended", faded=True) for who in ended}
    rows |= {who: Row(f"{name} {who}", doing, faded=True) for who, doing in (others or {}).items()}
    for who in {n for wait in waits for n in wait.needs} - set(rows):
        rows[who] = Row(f"{name} {who}", "goes on", faded=True)
    order = sorted(rows)
    core = {wait.who for wait in deadlock.core} if deadlock else set()
    blame = core | set(deadlock.ended) if deadlock else set()
    arrows = [
        Arrow(order.index(wait.who), order.index(n), wait.who in core and n in blame)
        for wait in waits
        for n in wait.needs
    ]
    found = sentence(deadlock, name) if deadlock else "every wait can still end"
    alt = f"Who waits for whom. {found}. " + " ".join(_in_words(w, name) for w in waits)
    return arcs([rows[who] for who in order], arrows, title or _found(deadlock, name), alt, theme)


def _found(deadlock: Deadlock | None, name: str) -> str:
    if deadlock is None:
        return "No deadlock"
    if deadlock.cycle:
        who = [wait.who for wait in deadlock.cycle]
        if len(who) == 1:
            return f"Deadlock: {name} {who[0]} waits for itself"
        return f"Deadlock: {names(who, name)} wait for each other in a circle"
    stuck = [wait.who for wait in deadlock.core]
    waits = "waits" if len(stuck) == 1 else "wait"
    have = "has" if len(deadlock.ended) == 1 else "have"
    return f"{names(stuck, name)} {waits} for {names(deadlock.ended, name)}, which {have} ended"


def _in_words(wait: Wait, name: str) -> str:
    doing = f"{wait.doing} {wait.where}".strip()
    return f"{name} {wait.who} {doing}, and waits for {names(wait.needs, name)}."
