"""`show`: one function for every picture of a lesson, interactive if a kernel runs, else static."""

from helpers import draw, timeline
from helpers.draw.themed import static
from helpers.lesson.shown import put
from helpers.ranks.failure import LaunchReport
from helpers.ranks.pool import in_notebook
from helpers.trace import Trace
from helpers.waits import WaitGraph

SHOW_THEMSELVES = ("_ipython_display_", "_repr_mimebundle_", "_repr_html_")


def show(thing: object) -> None:
    """Show a picture of `thing` in the notebook.

    thing: a `Trace`, a picture or a widget that shows itself, or what a launch has reported. A
        running kernel shows a trace as the interactive timeline. Under LAB_STATIC=1 a widget shows
        its picture, because a saved widget without its kernel shows only an error.
    """
    put(picture(thing))


def picture(thing: object) -> object:
    """Return what `show` displays; TypeError for what can't be shown."""
    if isinstance(thing, Trace):
        return timeline.timeline(thing) if in_notebook() and not static() else draw.lanes(thing)
    alive = any(hasattr(thing, name) for name in SHOW_THEMSELVES)
    if alive or isinstance(thing, LaunchReport | WaitGraph):  # those as `helpers.draw.waits` says
        return thing
    raise TypeError(
        f"show() cannot show {thing!r:.60}: give it a trace, a picture of helpers.draw, "
        "a widget, or the report of a launch"
    )
