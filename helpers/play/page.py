"""The page of the game: one ES module and one style sheet, plain text without anything to fetch.

A host joins `module_text()` with a few lines of its own: `assets/served.js` for the page that
`python -m helpers.play` serves, `assets/notebook.js` for a widget. A page whose Python runs in the
browser brings a third. `assets/play.js` says what a host must have.
"""

from functools import cache
from pathlib import Path

from helpers.draw.style import painted
from helpers.timeline.page import asset as shared
from helpers.timeline.page import joinable

ASSETS = Path(__file__).parent / "assets"
# A file comes after those that it imports.
FILES = ("kept.js", "lanes_of_play.js", "hand.js", "travel.js", "furniture.js", "play.js")


@cache
def asset(name: str) -> str:
    """Return the text of a file in `assets/`, with the colors of the palette in it."""
    return painted((ASSETS / name).read_text(encoding="utf-8"))


def module_text(host: str = "") -> str:
    """Return the ES module that has `mountPlay`, with the lines of a host behind it."""
    parts = [*map(shared, ("dom.js", "save.js")), *map(asset, FILES)]
    return "\n".join([*map(joinable, parts), host])


def page(host: str) -> str:
    """Return the page as HTML. host: the JavaScript that calls `mountPlay`."""
    parts = {"STYLE": asset("play.css"), "MODULE": module_text(host)}
    pieces = asset("page.html").split("@@")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))
