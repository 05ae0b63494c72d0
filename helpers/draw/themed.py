"""What a page makes of a picture: whether a kernel runs, and what the reader can do."""

import base64
import os
import zlib
from html import escape

PICTURE = "application/x-lab-picture+json"  # {"svg": compressed}: what a built lesson keeps of one
TIMELINE = "application/x-lab-timeline+json"  # {"json": compressed}: and of a timeline


def compressed(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def static() -> bool:
    """Return whether pictures must work without a kernel: `make notebooks` sets LAB_STATIC=1."""
    return os.environ.get("LAB_STATIC") == "1"


def hint(words: str) -> str:
    """Return the line below a picture that says what the reader can do with it."""
    style = "margin: 4px 0; opacity: 0.75; font-size: 0.9em"
    return f'<p class="lab-hint" style="{style}">{escape(words)}</p>'
