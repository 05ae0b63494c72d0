"""What the browser gets: the look of events, one ES module, and a page that holds both.

The palette is that of `helpers.draw.style`, so the static picture and the widget look the same.

Each file in `assets/` is a plain ES module with one job. A notebook and a saved page want a single
module, so the files follow each other without their imports and exports. There is no bundler, and
nothing is fetched.
"""

import base64
import json
import re
import zlib
from dataclasses import asdict
from functools import cache
from html import escape
from pathlib import Path

from helpers.draw.style import FONTS, LOOKS, THEMES, UNKNOWN, ink_on, look, painted
from helpers.trace import COLLECTIVES

ASSETS = Path(__file__).parent / "assets"
# A file comes after those that it imports. A test checks that, and that no name occurs twice.
_NAMES = "dom model measure words layout paint lanes draw overview marks numbers legend page "
_NAMES += "player interact save view explore widget"
FILES = tuple(f"{name}.js" for name in _NAMES.split())
_IMPORT = re.compile(r"^import\s*\{[^}]*\}\s*from\s*\"[^\"]*\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=function|const|class|async)", re.MULTILINE)

# If its letter doesn't fit into a box, lines or dots replace it.
TEXTURES = {"B": "falling", "I": "upright", "W": "dots", "update": "crossed", "wait": "rising"}
# Why a rank is idle: {for} is the action it waits to compute, {until} the rank it waits for.
CAUSES = {
    "dependency": "{for} needs a result of rank {until} that is not computed yet.",
    "imbalance": "{for} needs a result of rank {until} that is late: with equal stages on equal "
    "ranks it would be there.",
    "message": "The result of rank {until} is computed and on its way: {for} waits for the "
    "network.",
    "memory": "The next forward has its input, but there is no room for its activations: first "
    "{for} must free some.",
    "all-reduce": "Gradients are averaged with the other replicas.",
    "finished": "Nothing is left to do here; other ranks still work.",
}
# The order in which the colors of summed events are stacked, the same in every row.
ORDER = [*dict.fromkeys(each.color for each in LOOKS.values()), UNKNOWN]


def look_of(kind: str) -> dict:
    """Return the look of a kind of event: color, letter, word, texture, ink of the letter."""
    shown = look(kind)
    return {
        "kind": kind,
        "color": shown.color,
        "letter": shown.letter,
        "word": shown.word,
        "ink": ink_on(shown.color),
        "texture": TEXTURES.get(kind, ""),
        "collective": kind in COLLECTIVES,
        "known": kind in LOOKS or kind in COLLECTIVES,
    }


def look_table() -> dict:
    """Return what is the same for every trace: themes, fonts, the words for idle time."""
    themes = {name: asdict(theme) for name, theme in THEMES.items()}
    return {"themes": themes, "fonts": FONTS, "causes": CAUSES, "order": ORDER}


@cache
def module_text() -> str:
    """Return one ES module whose default export is what anywidget asks for: ``{ render }``."""
    return "\n".join(joinable(asset(name)) for name in FILES)


def joinable(source: str) -> str:
    """Return a file without its imports and exports; a default export stays."""
    return _EXPORT.sub("", _IMPORT.sub("", source))


@cache
def asset(name: str) -> str:
    """Return the text of a file in `assets/`, with the colors of the palette in it."""
    return painted((ASSETS / name).read_text(encoding="utf-8"))


def recorded(head: dict, body: bytes) -> dict:
    """Return a packed timeline as JSON can hold it."""
    return {"head": head, "body": base64.b64encode(zlib.compress(body, 6)).decode()}


def page(head: dict, body: bytes, above: str = "", below: str = "") -> str:
    """Return a timeline as one HTML file that opens without Python, a server or a network.

    It holds the module that a notebook runs, and the data: `head` and `body` as `pack` makes them.
    above, below: HTML that stands before and after the timeline.
    """
    data = json.dumps(recorded(head, body) | {"look": look_table()}, ensure_ascii=False)
    parts = {
        "TITLE": escape(head["title"]),
        "ALT": escape(head["alt"]),
        "STYLE": asset("timeline.css"),
        "ABOVE": above,
        "BELOW": below,
        # No "</script>" may stand inside a script, whatever an event is called.
        "DATA": data.replace("<", "\\u003c"),
        "MODULE": module_text() + "\n" + asset("standalone.js"),
    }
    pieces = asset("page.html").split("@@")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))
