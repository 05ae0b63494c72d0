"""Who waits for whom: a row for each rank, an arrow to each rank that it waits for.

The ranks report their waits as data, and only who shows a report draws it. In a notebook that is
the notebook itself, once `draw_in` has told it how; `helpers/__init__.py` does so.
"""

from html import escape

from helpers.draw.graph import Arrow, Node, arcs
from helpers.draw.picture import Picture
from helpers.waits import Deadlock, Wait, WaitGraph, find_deadlock, sentence
from helpers.words import names


def who_waits(found: WaitGraph) -> Picture:
    """Draw who waits for whom; the waits of the deadlock stand out.

    Args:
        found: the waits; a title of its own takes the place of the computed one.

    Raises:
        ValueError: if no rank waits.
    """
    if not found.waits:
        raise ValueError("no rank waits for another, so there is nothing to draw")
    waits, ended = found.waits, found.ended
    deadlock = find_deadlock(waits, ended)
    rows = {w.who: Node(f"rank {w.who}", w.doing, w.where, w.line) for w in waits}
    rows |= {who: Node(f"rank {who}", "has ended", faded=True) for who in ended}
    rows |= {who: Node(f"rank {who}", doing, faded=True) for who, doing in found.others.items()}
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
    spoken = sentence(deadlock) if deadlock else "every wait can still end"
    alt = f"Who waits for whom. {spoken}. " + " ".join(map(_in_words, waits))
    return arcs([rows[who] for who in order], arrows, found.title or _found(deadlock), alt)


def show_report(report) -> None:
    """Display a `LaunchReport`: its text, then the picture of the ranks that waited."""
    from IPython.display import display

    style = "font-family: monospace; white-space: pre-wrap; word-break: normal"
    words = {"text/html": f'<pre style="{style}">{escape(str(report))}</pre>'}
    display(words | {"text/plain": repr(report)}, raw=True)
    if report.failure and report.failure.waits:
        display(who_waits(report.failure.waits))


def draw_in(shell) -> None:
    """Let IPython draw the waits and the reports that it displays."""

    def drawn(method: str):
        return lambda found, **_: getattr(who_waits(found), method)()

    shown = shell.display_formatter
    graph = ("helpers.waits.graph", "WaitGraph")
    shown.mimebundle_formatter.for_type_by_name(*graph, drawn("_repr_mimebundle_"))
    shown.formatters["image/png"].for_type_by_name(*graph, drawn("_repr_png_"))
    report = ("helpers.ranks.failure", "LaunchReport")
    shown.ipython_display_formatter.for_type_by_name(*report, show_report)


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
