"""How wide a text is, and round numbers for axes.

Widths come from a table, so a picture is the same on every machine, whatever fonts it has.
"""

import math
from collections.abc import Iterable

from helpers.words import bytes_text, percent, time_text  # noqa: F401  lessons ask for them here

# DejaVu Sans, a wide font: hundredths of the font size for the characters 32 to 126.
_WIDTHS = """
    32 41 46 84 64 95 78 28 39 39 50 84 32 37 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 54
    100 69 69 70 77 64 58 78 76 30 30 66 56 87 75 79 61 79 70 64 62 74 69 99 69 62 69 39 34 39 84
    50 50 62 64 55 64 62 36 64 64 28 28 58 28 98 64 62 64 64 42 53 40 64 60 82 60 60 53 64 34 64 84
"""
_WIDTH = {chr(32 + i): int(w) / 100 for i, w in enumerate(_WIDTHS.split())}
_WIDTH |= dict.fromkeys("×→←≤≥±≈−", 0.84) | dict.fromkeys("…—", 1.0)
_BOLD = 1.13


def width_of(text: str, size: float, bold: bool = False) -> float:
    """Return the width of one line of text in pixels, or more, in any of the fonts that we name."""
    ems = sum(_WIDTH.get(c, 0.65 if ord(c) < 0x1100 else 1.0) for c in text)
    return ems * size * (_BOLD if bold else 1.0)


def first_that_fits(texts: Iterable[str], size: float, room: float) -> str:
    """Return the first text that is at most `room` pixels wide; "" if none is."""
    return next((text for text in texts if width_of(text, size) <= room), "")


def shortened(text: str, size: float, room: float) -> str:
    """Return the text, or as much of it as fits into `room` pixels with "…" after it."""
    if width_of(text, size) <= room:
        return text
    while text and width_of(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def wrapped(text: str, size: float, room: float, bold: bool = False) -> list[str]:
    """Break the text at spaces into lines of at most `room` pixels."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size, bold) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def ticks(low: float, high: float, at_most: int = 8) -> list[float]:
    """Return at most `at_most` round values within low..high; only `low` if the range is empty.

    Their step is 1, 2 or 5 times a power of ten.
    """
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / at_most))
    while True:
        for factor in (1, 2, 5):
            first = math.ceil(low / (factor * step) - 1e-9)
            last = math.floor(high / (factor * step) + 1e-9)
            if last - first < at_most:
                return [i * factor * step for i in range(first, last + 1)]
        step *= 10


def tick_labels(values: list[float]) -> list[str]:
    """Format the values, all with as many decimals as their step needs."""
    step = min((b - a for a, b in zip(values, values[1:], strict=False)), default=0)
    if not step:
        return [f"{value:g}" for value in values]
    if max(abs(v) for v in values) >= 1e7 or step < 1e-6:
        return [f"{value:g}" for value in values]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{value + 0.0:,.{decimals}f}" for value in values]


def powers(low: float, high: float, at_most: int = 8) -> list[float]:
    """Return round values within low..high (above 0) for a logarithmic axis.

    Powers of ten, every second or third of them if there are many; with fewer than three of them,
    also 2 and 5 times a power.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = -(-(last - first + 1) // at_most)
    found = [10.0**n for n in range(first, last + 1) if n % every == 0]
    found = [value for value in found if low <= value <= high]
    if len(found) < 3:
        found = [f * 10.0**n for n in range(first, last + 1) for f in (1, 2, 5)]
        found = [value for value in found if low <= value <= high]
    return found or [low]


def powers_of_two(values: Iterable[float], at_most: int = 8) -> list[float]:
    """Return the values, if each is a power of two: every second or third of them if they're many.

    Where something else was tried too, or fewer than three of them, there's nothing to return.
    """
    found = sorted(set(values))
    if len(found) < 3 or any(value < 1 or value != 2 ** round(math.log2(value)) for value in found):
        return []
    return found[:: -(-len(found) // at_most)]


def power_label(value: float) -> str:
    """Format a round value of a logarithmic axis: "0.01", "100", and "10⁻¹⁶" beyond."""
    if 1e-3 <= value < 1e5:
        return f"{value:,g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = round(value / 10.0**exponent)
    return ("" if factor == 1 else f"{factor} × ") + "10" + str(exponent).translate(_RAISED)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
