"""What every visitor of a page asks first, answered when the site is made: nobody waits for Python.

The page draws these answers at once, while the Python in the browser starts.
"""

import base64
import json

from helpers.play.levels import LEVELS
from pages.in_browser import answered

OPEN = {"page": "play", "do": "open"}
QUESTIONS = {
    "play": [
        {"page": "play", "do": "levels"},
        *({**OPEN, "level": level.id, "costs": {}, "plan": ""} for level in LEVELS),
    ],
    "explore": [{"page": "explore", "first": True}],
}


def first_answers(page: str) -> str:
    """Return an element that holds a page's first answers, for engine.js; "" if it has none."""
    rows = []
    for question in QUESTIONS.get(page, []):
        text = json.dumps(question, separators=(",", ":"))  # as JSON.stringify writes it
        said, body = answered(text)
        rows.append([text, json.loads(said), base64.b64encode(body).decode()])
    # No "<" may end the element early.
    data = json.dumps(rows).replace("<", "\\u003c")
    return f'<script type="application/json" id="first">{data}</script>' if rows else ""
