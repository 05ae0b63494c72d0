"""`show`: one function for every picture of a lesson, interactive if a kernel runs, else static."""

import base64
import io
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path

from helpers.draw.themed import kept, static
from helpers.lesson.shown import Shown, find_file, put
from helpers.ranks.failure import LaunchReport
from helpers.ranks.pool import in_notebook

FORMATS = {".png": "image/png", ".svg": "image/svg+xml"}


def show(
    thing: object, alt: str = "", live: Callable[[], object] | None = None, title: str = ""
) -> None:
    """Show a picture of `thing` in the notebook.

    thing: a `Trace`, a picture of `helpers.draw`, what a launch has reported, a matplotlib figure,
        or the path of a .png or .svg file (seen from the current folder or the top of the project).
    alt: what the picture says, in words, for readers who can't see it. A matplotlib figure and a
        file need it; a trace and a picture of `helpers.draw` bring their own.
    title: of a trace: what was found, in a sentence; without one, only its numbers stand above it.
        Everything else has its title already.
    live: returns the widget that a running kernel shows instead of the picture; a trace brings
        its own, the interactive timeline. Under LAB_STATIC=1 the picture is shown, because a saved
        widget without its kernel shows only an error.
    """
    if isinstance(thing, LaunchReport):  # a notebook draws it: helpers.draw.waits
        put(thing)
        return
    if live is None and hasattr(thing, "events_of") and in_notebook():
        live = partial(_interactive, thing, title)
    if hasattr(thing, "picture"):  # a widget that brings its own
        put(picture(thing.picture(), alt) if static() else thing)
        return
    if live is None:
        put(picture(thing, alt, title))
    elif static():
        shown = picture(thing, alt, title)
        put(replace(shown, kept=shown.kept | _kept(live())))
    else:
        put(live())


def _kept(widget: object) -> dict[str, dict]:
    """Return the pictures of all steps, so that a page without Python shows them, too."""
    recorded = getattr(widget, "recorded", None)
    return {widget.kept_as: recorded()} if recorded else {}


def _interactive(trace: object, title: str) -> object:
    from helpers.timeline import timeline

    return timeline(trace, title)


def picture(thing: object, alt: str = "", title: str = "") -> Shown:
    """Return `thing` as a static HTML image with its alternative text.

    Raises:
        TypeError: if `thing` cannot be shown.
        ValueError: if `alt` is missing.
    """
    if isinstance(thing, str | Path):
        path = find_file(thing)
        if path.suffix not in FORMATS:
            raise ValueError(f"show() takes .png and .svg files, and {str(thing)!r} is neither.")
        return image(path.read_bytes(), FORMATS[path.suffix], alt)
    if hasattr(thing, "savefig"):
        return _figure(thing, alt)
    if hasattr(thing, "events_of"):
        from helpers.draw import timeline

        thing = timeline(thing, title or None)
    if hasattr(thing, "image") and static():  # a built lesson: the same everywhere
        width = round(thing.canvas.width)
        return Shown(thing.image(), alt or thing.alt, kept(thing), thing.png(), width)
    if hasattr(thing, "_repr_html_"):
        return Shown(thing._repr_html_(), alt or getattr(thing, "alt", "") or repr(thing))
    raise TypeError(
        f"show() cannot show a {type(thing).__name__}: give it a trace, a picture of helpers.draw, "
        "a matplotlib figure, or the path of a .png or .svg file."
    )


def image(data: bytes, kind: str, alt: str, width: int | None = None) -> Shown:
    """Return `data` of the MIME type `kind` as a self-contained `<img>`."""
    if not alt.strip():
        raise ValueError(
            "This picture has no alternative text: say in one sentence what it shows, "
            "as in show(figure, alt='The loss falls from 7 to 4 in 50 steps.')."
        )
    source = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    size = f' width="{width}"' if width else ""
    html = f'<img alt="{escape(alt)}"{size} style="max-width: 100%" src="{source}">'
    png = data if kind == "image/png" else b""
    return Shown(html, alt, png=png, width=width or 0)


def _figure(figure: object, alt: str) -> Shown:
    """Return a matplotlib figure as a PNG at twice its displayed size, so that it stays sharp."""
    buffer, dpi = io.BytesIO(), 96
    figure.savefig(buffer, format="png", dpi=2 * dpi)
    if "matplotlib.pyplot" in sys.modules:  # or the notebook would show it a second time
        sys.modules["matplotlib.pyplot"].close(figure)
    return image(buffer.getvalue(), "image/png", alt, width=round(figure.get_figwidth() * dpi))
