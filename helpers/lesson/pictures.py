"""`show`: one function for every picture of a lesson, interactive if a kernel runs, else static."""

import base64
import io
import sys
from html import escape
from pathlib import Path

from helpers.draw.themed import static
from helpers.lesson.shown import Shown, find_file, put
from helpers.ranks.pool import in_notebook

FORMATS = {".png": "image/png", ".svg": "image/svg+xml"}
SHOW_THEMSELVES = ("_ipython_display_", "_repr_mimebundle_", "_repr_html_")


def show(thing: object, alt: str = "", title: str = "") -> None:
    """Show a picture of `thing` in the notebook.

    thing: a `Trace`, a picture or a widget that shows itself, what a launch has reported, a
        matplotlib figure, or the path of a .png or .svg file (seen from the current folder or the
        top of the project). A running kernel shows a trace as the interactive timeline. Under
        LAB_STATIC=1 a widget's picture takes its place, because a saved widget without its kernel
        shows only an error.
    alt: what the picture says, in words, for readers who can't see it. A matplotlib figure and a
        file need it; everything else brings its own.
    title: of a trace: what was found, in a sentence; without one, only its numbers stand above it.
        Everything else has its title already.
    """
    put(picture(thing, alt, title))


def picture(thing: object, alt: str = "", title: str = "") -> object:
    """Return what `show` displays.

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
        thing = _of_trace(thing, title)
    if any(hasattr(thing, name) for name in SHOW_THEMSELVES) or is_report(thing):
        return thing
    raise TypeError(
        f"show() cannot show a {type(thing).__name__}: give it a trace, a picture of helpers.draw, "
        "a matplotlib figure, or the path of a .png or .svg file."
    )


def is_report(thing: object) -> bool:
    """Return whether a notebook draws it as `helpers.draw.waits` says."""
    from helpers.ranks.failure import LaunchReport
    from helpers.waits import WaitGraph

    return isinstance(thing, LaunchReport | WaitGraph)


def _of_trace(trace: object, title: str) -> object:
    if in_notebook() and not static():
        from helpers.timeline import timeline

        return timeline(trace, title)
    from helpers.draw import lanes

    return lanes(trace, title)


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
