"""The wait-for graph as a picture: each rank a row with its code, each wait an arrow."""

from collections.abc import Collection, Sequence

from helpers.draw import Arrow, Picture, Row, arcs
from helpers.waits.graph import Wait, find_knot
from helpers.waits.words import names, sentence


def picture(
    waits: Sequence[Wait],
    ended: Collection[int] = (),
    others: dict[int, str] | None = None,
    title: str = "",
    name: str = "rank",
    theme: str = "light",
) -> Picture:
    """Draw who waits for whom; the waits of the knot stand out.

    ended: those that have ended. others: what those do that neither wait nor have ended.
    title: what was found; left out, it is computed.
    """
    knot = find_knot(waits, ended)
    rows = {w.who: Row(f"{name} {w.who}", w.doing, w.where, w.line) for w in waits}
    rows |= {who: Row(f"{name} {who}", "has ended", faded=True) for who in ended}
    rows |= {who: Row(f"{name} {who}", doing, faded=True) for who, doing in (others or {}).items()}
    for who in {n for wait in waits for n in wait.needs} - set(rows):
        rows[who] = Row(f"{name} {who}", "goes on", faded=True)
    order = sorted(rows)
    core = {wait.who for wait in knot.core} if knot else set()
    blame = core | set(knot.ended) if knot else set()
    arrows = [
        Arrow(order.index(wait.who), order.index(n), wait.who in core and n in blame)
        for wait in waits
        for n in wait.needs
    ]
    story = sentence(knot, name) if knot else "every wait may still end"
    alt = f"Who waits for whom. {story}. " + " ".join(_in_words(w, name) for w in waits)
    return arcs([rows[who] for who in order], arrows, title or _found(knot, name), alt, theme)


def _found(knot, name: str) -> str:
    if knot is None:
        return "Nobody waits in vain"
    if knot.cycle:
        who = [wait.who for wait in knot.cycle]
        if len(who) == 1:
            return f"Deadlock: {name} {who[0]} waits for itself"
        return f"Deadlock: {names(who, name)} wait for each other in a circle"
    return f"{names([w.who for w in knot.core], name)} wait{'s' * (len(knot.core) == 1)} in vain"


def _in_words(wait: Wait, name: str) -> str:
    doing = f"{wait.doing} {wait.where}".strip()
    return f"{name} {wait.who} {doing}, and waits for {names(wait.needs, name)}."
