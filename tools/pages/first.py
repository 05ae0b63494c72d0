"""What every visitor of a page asks first, answered when the site is made: nobody waits for Python.

The page draws these answers at once, while the Python in the browser starts.
"""

import json

from pages.in_browser import answered

QUESTIONS = {"explore": [{"page": "explore", "first": True}]}


def first_answers(page: str) -> str:
    """Return an element that holds a page's first answers, for engine.js; "" if it has none."""
    rows = []
    for question in QUESTIONS.get(page, []):
        text = json.dumps(question, separators=(",", ":"))  # as JSON.stringify writes it
        rows.append([text, json.loads(answered(text))])
    # No "<" may end the element early.
    data = json.dumps(rows).replace("<", "\\u003c")
    return f'<script type="application/json" id="first">{data}</script>' if rows else ""
