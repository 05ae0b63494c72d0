"""A timeline as one HTML file: opens without Python, without a server, without a network."""

import base64
import json
import zlib
from html import escape

from helpers.timeline.look import look_table
from helpers.timeline.module import asset, module_text


def page(head: dict, body: bytes) -> str:
    """The text of the file: the same module that a notebook runs, with the data inside."""
    packed = base64.b64encode(zlib.compress(body, 6)).decode()
    data = json.dumps({"head": head, "look": look_table(), "body": packed}, ensure_ascii=False)
    parts = {
        "TITLE": escape(head["title"]),
        "ALT": escape(head["alt"]),
        "STYLE": asset("timeline.css"),
        # No "</script>" may stand inside a script, whatever an event is called.
        "DATA": data.replace("<", "\\u003c"),
        "MODULE": module_text() + "\n" + asset("standalone.js"),
    }
    pieces = asset("page.html").split("@@")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))
