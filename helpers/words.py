"""Numbers, lists and errors in words, as every sentence of the project says them.

Plain functions of plain values: what draws, what computes and what starts ranks all use them.
"""

from collections.abc import Iterable, Sequence

LONGEST = 2_000  # characters of an error's text to show


def significant(value: float, digits: int = 3) -> str:
    """Format a number with `digits` significant digits, if possible without an exponent."""
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        text = f"{value:.{digits}g}"
        return f"{float(text):,.0f}" if "e" in text else text
    return f"{value:.{digits - 1}e}"


def time_unit(seconds: float) -> tuple[float, str]:
    """Return the unit in which this time is easy to read: (seconds per unit, its name)."""
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return size, name
    return 1e-9, "ns"


def time_text(seconds: float) -> str:
    """Format a time with three significant digits: "120 ms"."""
    if not seconds:
        return "0 s"
    size, name = time_unit(seconds * 1.0005)  # 0.9999 ms would be read as 1 ms
    return f"{significant(seconds / size)} {name}"


def bytes_text(count: float) -> str:
    """Format bytes with three significant digits, in steps of 1,000: "1.2 GB"."""
    for size, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(count) >= size:
            return f"{significant(count / size)} {name}"
    return f"{significant(count)} B"


def percent(share: float) -> str:
    """Format a share as "34 %", and as "0.4 %" rather than a rounded zero."""
    value = 100 * share
    return f"{value:.1g} %" if 0.05 <= value < 0.95 else f"{round(value)} %"


def listed(words: Iterable[str]) -> str:
    """Join words: "a", "a and b", "a, b and c"."""
    *most, last = list(words)
    return f"{', '.join(most)} and {last}" if most else last


def names(numbers: Sequence[int]) -> str:
    """Return the ranks in words: [1] -> "rank 1"; [0, 2] -> "ranks 0 and 2"."""
    numbers = list(numbers)
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    return f"ranks {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def capital(text: str) -> str:
    """Return a text as it begins a sentence."""
    return text[:1].upper() + text[1:]


def text_of(error: BaseException) -> str:
    """Return the text of an error on one line, even if its own __str__ fails."""
    try:
        text = str(error)
    except Exception as second:  # __str__ is the program's own
        return f"(no text: its __str__ raised {type(second).__name__})"
    return shorten(" ".join(text.split()), LONGEST)


def shorten(text: str, most: int) -> str:
    """Return a text without its middle if it is longer than `most` characters."""
    if len(text) <= most:
        return text
    begin, end = most - most // 4, most // 4
    return f"{text[:begin]} … ({len(text) - most:,} characters left out) … {text[-end:]}"


def say_seconds(value: float) -> str:
    """Round a time limit for an error: "60 s" for 59.9999."""
    return f"{round(value, 1) if value >= 1 else value:g} s"
