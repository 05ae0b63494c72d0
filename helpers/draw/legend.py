"""The line that says which colour and letter is which."""

from helpers.draw.canvas import Canvas
from helpers.draw.style import LOOKS, YELLOW, ink_on, look
from helpers.draw.text import width_of
from helpers.trace import COLLECTIVES, Trace

MAX_UNKNOWN = 3


def draw_legend(canvas: Canvas, traces: list[Trace], y: float, x: float) -> float:
    """Draw a swatch and a word for each kind that occurs; give the y below."""
    kinds = {e.kind for trace in traces for e in trace.events}
    left = x
    for letter, colour, word in _entries(kinds):
        swatch = max(16.0, width_of(letter, 10, bold=True) + 6)
        needed = swatch + 5 + width_of(word, 11)
        if x + needed > canvas.width - left:
            x, y = left, y + 20
        if colour:
            canvas.rect(x, y, swatch, 14, colour)
            canvas.text(x + swatch / 2, y + 7, letter, 10, ink_on(colour), "middle", bold=True)
        else:
            canvas.rect(x, y, swatch, 14, canvas.theme.band, hatch=canvas.theme.wait)
        canvas.text(x + swatch + 5, y + 7, word, 11)
        x += needed + 16
    return y + 16 if kinds else y


def _entries(kinds: set[str]) -> list[tuple[str, str, str]]:
    """(letter, colour, word) in a fixed order; waiting has no colour."""
    entries = [
        (look(kind).letter, look(kind).colour, look(kind).word)
        for kind in ("F", "B", "I", "W", "update", "input")
        if kind in kinds
    ]
    grey = look("send").colour
    if kinds & {"send", "recv"}:
        entries.append(("", grey, "message"))
    if kinds & COLLECTIVES:
        entries.append(("", grey, ", ".join(sorted(kinds & COLLECTIVES))))
    if "wait" in kinds:
        entries.append(("", "", "waiting"))
    unknown = sorted(kinds - set(LOOKS) - COLLECTIVES)
    if unknown:
        more = f" and {len(unknown) - MAX_UNKNOWN} more" if len(unknown) > MAX_UNKNOWN else ""
        entries.append(("", YELLOW, ", ".join(unknown[:MAX_UNKNOWN]) + more))
    return entries
