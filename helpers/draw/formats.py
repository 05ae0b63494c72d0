"""Numbers bit by bit: how many bits of a format say how large it is, and what range they reach."""

from collections.abc import Sequence
from dataclasses import dataclass

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import cause
from helpers.words import listed

BIT, HIGH, APART = 11.0, 20.0, 40.0  # pixels: of a bit, of a row, from row to row
NAMES, RANGE = 96.0, 500.0  # where the bits begin, and the ranges
LEAST, MOST = -152, 130  # powers of two on the axis


@dataclass(frozen=True)
class Bits:
    """A format of numbers.

    exponent, mantissa: bits. smallest, normal, largest: the powers of two of the smallest number
    above 0, of the smallest normal one, and of the largest. shared: bits of a scale, and `block`:
    how many numbers share it; the range then is that of one block.
    """

    name: str
    exponent: int
    mantissa: int
    smallest: float
    normal: float
    largest: float
    shared: int = 0
    block: int = 0


def bits(formats: Sequence[Bits], title: str) -> Picture:
    """Draw each format as a row: its bits on the left, on the right the numbers that it reaches."""
    canvas = Canvas()
    top = canvas.heading(title) + 14
    words = {
        "sign": canvas.theme.muted,
        "exponent: how large": cause("exponent"),
        "mantissa: how exact": cause("mantissa"),
        "range": cause("range"),
        "ever less exact (subnormal)": _pale(canvas),
    }
    canvas.legend([("", color, word) for word, color in words.items()], NAMES, top)
    top += 30
    for row, each in enumerate(formats):
        y = top + row * APART
        canvas.text(PAD, y + HIGH / 2, each.name, 13, bold=True)
        _draw_bits(canvas, each, y)
        _draw_range(canvas, each, y)
    bottom = top + len(formats) * APART
    _draw_axis(canvas, top - 6, bottom)
    canvas.height = bottom + 44
    return Picture(canvas, title, _in_words(title, formats))


def _pale(canvas: Canvas) -> str:
    return canvas.theme.faded(cause("range"), 0.45)


def _draw_bits(canvas: Canvas, each: Bits, y: float) -> None:
    x = NAMES
    for _ in range(each.shared):
        canvas.rect(x, y, BIT - 1, HIGH, canvas.theme.faded(cause("exponent"), 0.45))
        x += BIT
    if each.shared:
        canvas.text(x + 4, y + HIGH / 2, f"and, {each.block} times,", 12)
        x += 96
    parts = (cause("exponent"), each.exponent), (cause("mantissa"), each.mantissa)
    for color, count in ((canvas.theme.muted, 1), *parts):
        for _ in range(count):
            canvas.rect(x, y, BIT - 1, HIGH, color)
            x += BIT


def _x(power: float, canvas: Canvas) -> float:
    return RANGE + (power - LEAST) / (MOST - LEAST) * (canvas.width - PAD - RANGE)


def _draw_range(canvas: Canvas, each: Bits, y: float) -> None:
    low, normal, high = (_x(p, canvas) for p in (each.smallest, each.normal, each.largest))
    if each.shared:  # the scale moves the range of a block
        ends = [_x(p, canvas) for p in (-127, 127)]
        canvas.line([(end, y + HIGH / 2) for end in ends], canvas.theme.muted, 1.2, (3, 3))
    canvas.rect(low, y + 3, max(normal - low, 1), HIGH - 6, _pale(canvas))
    canvas.rect(normal, y + 3, high - normal, HIGH - 6, cause("range"))


def _draw_axis(canvas: Canvas, top: float, bottom: float) -> None:
    for power in range(-150, MOST, 25):
        x = _x(power, canvas)
        canvas.line([(x, top), (x, bottom)], canvas.theme.grid)
        if power % 50 == 0:
            canvas.text(x, bottom + 10, f"2^{power}", 11, canvas.theme.muted, "middle")
    middle = _x((LEAST + MOST) / 2, canvas)
    canvas.text(middle, bottom + 28, "magnitudes", 11, canvas.theme.muted, "middle")


def _in_words(title: str, formats: Sequence[Bits]) -> str:
    def one(each: Bits) -> str:
        scale = f"a shared scale of {each.shared} bits for {each.block} numbers of " * bool(
            each.shared
        )
        return (
            f"{each.name}: {scale}1 sign, {each.exponent} exponent and {each.mantissa} mantissa "
            f"bits, from 2^{each.smallest:g} (normal from 2^{each.normal:g}) to "
            f"2^{each.largest:.3g}"
        )

    return f"Formats bit by bit. {title}. {listed(one(each) for each in formats)}."
