"""How wide texts are, and where they find room."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from matplotlib import font_manager

WIDE = 900  # pixels of a picture: a notebook's width
PAD = 14  # pixels between its edge and what is drawn
FONT = "DejaVu Sans"  # wider than those of `FONTS`, so what fits here fits on a page


@lru_cache(4096)
def _advance(letter: str, bold: bool) -> float:
    font = font_manager.get_font(font_manager.findfont(f"{FONT}:bold" if bold else FONT))
    font.set_size(100, 72)
    return font.load_char(ord(letter)).linearHoriAdvance / 65536 / 100


def width_of(text: str, size: float = 12, bold: bool = False) -> float:
    """Return the width of a text in pixels."""
    return size * sum(_advance(letter, bold) for letter in text)


def wrapped(text: str, size: float, room: float, bold: bool = False) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        if lines and width_of(f"{lines[-1]} {word}", size, bold) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def shortened(text: str, size: float, room: float) -> str:
    if width_of(text, size) <= room:
        return text
    while text and width_of(text + "…", size) > room:
        text = text[:-1]
    return text + "…"


def spread(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Return places in low … high, `apart` from each other, near the wanted ones (ascending)."""
    places: list[float] = []
    for each in wanted:
        places.append(max(each, places[-1] + apart if places else low))
    for number in reversed(range(len(places))):
        places[number] = min(places[number], high)
        high = places[number] - apart
    return places


def legend_rows(entries: Iterable[tuple[str, str, str]]) -> list[list[tuple]]:
    """Return where each swatch of a legend stands; what finds no room goes into another row."""
    rows: list[list[tuple]] = [[]]
    x = PAD
    for color, letter, word in entries:
        swatch = max(16.0, width_of(letter, 10, bold=True) + 6)
        needed = swatch + 5 + width_of(word, 11)
        if rows[-1] and x + needed > WIDE - PAD:
            rows.append([])
            x = PAD
        rows[-1].append((x, swatch, color, letter, word))
        x += needed + 16
    return [row for row in rows if row]
