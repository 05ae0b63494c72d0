"""A picture: shapes in pixels, and the SVG or PNG file that becomes of them.

Drawing code fills a `Canvas`; a `Picture` adds the title and the alternative text, and is saved or
shown in a notebook. The origin is the upper left corner, and y grows downwards.

SVG files are kept in the repository and compared, so the same picture is the same text on every
machine: no dates, no random ids, two decimals. The file describes itself to a screen reader (role,
title, description).
"""

import base64
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path

from helpers.draw.style import FONTS, Theme, ink_on
from helpers.draw.style import theme as theme_called
from helpers.draw.text import width_of, wrapped
from helpers.files import write_whole

Point = tuple[float, float]
HATCH = 5  # pixels from one line to the next
PAD = 14  # pixels between the edge and what is drawn
WIDE = 900  # pixels: a notebook's width


@dataclass(slots=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    fill: str
    tip: str = ""  # shown under the pointer where a viewer can
    hatch: str = ""  # color of diagonal lines over the fill


@dataclass(slots=True)
class Line:
    points: list[Point]
    colour: str
    width: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(slots=True)
class Polygon:
    points: list[Point]
    fill: str


@dataclass(slots=True)
class Text:
    x: float
    y: float  # the middle of the small letters
    text: str
    size: float
    colour: str
    anchor: str = "start"  # "start", "middle", "end"
    bold: bool = False


@dataclass(slots=True)
class Canvas:
    """A picture being drawn.

    width, height: pixels; the height is mostly set last. theme: or its name, "light" or "dark".
    """

    width: float = WIDE
    height: float = 0
    theme: Theme | str = "light"
    shapes: list[Rect | Line | Polygon | Text] = field(default_factory=list)

    def __post_init__(self):
        if isinstance(self.theme, str):
            self.theme = theme_called(self.theme)

    def rect(self, x, y, width, height, fill, tip="", hatch="") -> None:
        self.shapes.append(Rect(x, y, width, height, fill, tip, hatch))

    def line(self, points: list[Point], colour: str, width=1.0, dash=()) -> None:
        self.shapes.append(Line(points, colour, width, tuple(dash)))

    def polygon(self, points: list[Point], fill: str) -> None:
        self.shapes.append(Polygon(points, fill))

    def text(self, x, y, text, size=12.0, colour=None, anchor="start", bold=False) -> None:
        colour = colour or self.theme.text
        self.shapes.append(Text(x, y, text, size, colour, anchor, bold))

    def heading(self, title: str) -> float:
        """Write the title at the top, in as many lines as it takes; return the y below it."""
        y = PAD
        for line in wrapped(title, 15, self.width - 2 * PAD, bold=True):
            self.text(PAD, y + 8, line, 15, bold=True)
            y += 20
        return y

    def box(
        self, x, y, width, height, fill, text="", size=12.0, bold=False, tip="", hatch=""
    ) -> None:
        """Add a rectangle with a text in its middle, black or white, whichever reads better."""
        self.rect(x, y, width, height, fill, tip, hatch)
        if text:
            middle = x + width / 2, y + height / 2
            self.text(*middle, text, size, ink_on(fill), "middle", bold)

    def legend(self, entries: Iterable[tuple[str, str, str]], x: float, y: float) -> float:
        """Draw for each (letter, color, word) a swatch and its word; return the y below.

        What has no color is hatched, as waiting is. What finds no room goes into another row.
        """
        left, below = x, y
        for letter, colour, word in entries:
            swatch = max(16.0, width_of(letter, 10, bold=True) + 6)
            needed = swatch + 5 + width_of(word, 11)
            if x + needed > self.width - left:
                x, y = left, y + 20
            hatch = "" if colour else self.theme.wait
            self.box(x, y, swatch, 14, colour or self.theme.band, letter, 10, True, hatch=hatch)
            self.text(x + swatch + 5, y + 7, word, 11)
            x, below = x + needed + 16, y + 16
        return below

    def disc(self, middle: Point, radius: float, fill: str) -> None:
        turns = [2 * math.pi * i / 24 for i in range(24)]
        x, y = middle
        self.polygon([(x + radius * math.cos(a), y + radius * math.sin(a)) for a in turns], fill)

    def arrow(self, start: Point, end: Point, colour: str, width=1.0, head=5.0) -> None:
        """Add a straight arrow with a filled head whose tip is at `end`."""
        (x0, y0), (x1, y1) = start, end
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        if length == 0:
            return
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        head = min(head, length)
        bx, by = x1 - head * ux, y1 - head * uy
        self.line([start, (bx, by)], colour, width)
        side = 0.42 * head
        self.polygon(
            [(x1, y1), (bx - side * uy, by + side * ux), (bx + side * uy, by - side * ux)], colour
        )


class Picture:
    """A picture with its title and its alternative text.

    title: what was found, in one line. alt: what the picture says, for a screen reader.
    """

    def __init__(self, canvas: Canvas, title: str, alt: str):
        self.canvas, self.title, self.alt = canvas, title, alt

    def svg(self) -> str:
        """Return the text of an SVG file, which is always the same for the same picture."""
        return to_svg(self.canvas, self.title, self.alt)

    def png(self, scale: float = 2.0) -> bytes:
        """Return the bytes of a PNG file. scale: pixels of the file per pixel of the picture."""
        from helpers.draw.png import to_png  # matplotlib, where it is needed

        return to_png(self.canvas, self.title, self.alt, scale)

    def save(self, path: str | os.PathLike) -> Path:
        """Write a .svg or .png file, whole or not at all, and return its path.

        Raises:
            ValueError: if the name has another ending.
        """
        ending = Path(path).suffix.lower()
        if ending == ".svg":
            return write_whole(path, self.svg())
        if ending == ".png":
            return write_whole(path, self.png())
        raise ValueError(f"cannot save a picture as {path}: the name must end in .svg or .png")

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"

    def _repr_png_(self) -> bytes:
        return self.png()

    def _repr_html_(self) -> str:
        """Return an image with its alternative text, which notebooks drop from a plain PNG."""
        data = base64.b64encode(self.png()).decode()
        return (
            f'<img alt="{escape(self.alt)}" width="{self.canvas.width:g}" '
            f'style="max-width: 100%" src="data:image/png;base64,{data}">'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


def to_svg(canvas: Canvas, title: str, alt: str) -> str:
    """Return the picture as the text of an SVG file."""
    width, height = _n(canvas.width), _n(canvas.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{_e(alt, quote=True)}" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONTS}">',
        f"<title>{_e(title)}</title>",
        f"<desc>{_e(alt)}</desc>",
        *_patterns(canvas),
        f'<rect width="{width}" height="{height}" fill="{canvas.theme.background}"/>',
    ]
    for key, shapes in groupby(canvas.shapes, key=_style):
        shapes = list(shapes)
        if key is not None and len(shapes) > 1:
            lines.append(f'<path d="{"".join(map(_outline, shapes))}" {key}/>')
        else:
            lines += map(_shape, shapes)
    return "\n".join(lines) + "\n</svg>\n"


def _n(value: float) -> str:
    """Format with two decimals at most, and without "-0"."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _e(text: str, quote: bool = False) -> str:
    text = escape(_clean(text), quote=False)
    return text.replace('"', "&quot;") if quote else text


def _clean(text: str) -> str:
    """Replace the control characters that XML forbids."""
    return "".join(c if c >= " " or c in "\n\t" else "�" for c in text)


def _patterns(canvas: Canvas) -> list[str]:
    colours = sorted({s.hatch for s in canvas.shapes if isinstance(s, Rect) and s.hatch})
    if not colours:
        return []
    rows = [
        f'<pattern id="hatch-{c[1:]}" width="{HATCH}" height="{HATCH}" '
        f'patternUnits="userSpaceOnUse"><path d="M-1 1L1 -1M0 {HATCH}L{HATCH} 0M{HATCH - 1} '
        f'{HATCH + 1}L{HATCH + 1} {HATCH - 1}" stroke="{c}"/></pattern>'
        for c in colours
    ]
    return ["<defs>", *rows, "</defs>"]


def _style(shape) -> str | None:
    """Return what neighbors must share to be drawn as one path; None: a shape of its own."""
    if isinstance(shape, Rect) and not shape.tip and not shape.hatch:
        return f'fill="{shape.fill}"'
    return None


def _outline(r: Rect) -> str:
    return f"M{_n(r.x)} {_n(r.y)}h{_n(r.width)}v{_n(r.height)}h{_n(-r.width)}z"


def _points(points) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _shape(shape) -> str:
    match shape:
        case Rect():
            return _rect(shape)
        case Line():
            dash = f' stroke-dasharray="{" ".join(map(_n, shape.dash))}"' if shape.dash else ""
            return (
                f'<polyline points="{_points(shape.points)}" fill="none" stroke="{shape.colour}" '
                f'stroke-width="{_n(shape.width)}" stroke-linejoin="round"{dash}/>'
            )
        case Polygon():
            return f'<polygon points="{_points(shape.points)}" fill="{shape.fill}"/>'
        case Text():
            # Viewers disagree about vertical centering, so the baseline is placed by hand.
            y = shape.y + 0.36 * shape.size
            weight = ' font-weight="bold"' if shape.bold else ""
            anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
            return (
                f'<text x="{_n(shape.x)}" y="{_n(y)}" font-size="{_n(shape.size)}" '
                f'fill="{shape.colour}"{anchor}{weight}>{_e(shape.text)}</text>'
            )
    raise TypeError(f"no such shape: {shape!r}")


def _rect(r: Rect) -> str:
    place = f'x="{_n(r.x)}" y="{_n(r.y)}" width="{_n(r.width)}" height="{_n(r.height)}"'
    tip = f"<title>{_e(r.tip)}</title>" if r.tip else ""
    box = f'<rect {place} fill="{r.fill}"' + (f">{tip}</rect>" if tip else "/>")
    if not r.hatch:
        return box
    lines = f'<rect {place} fill="url(#hatch-{r.hatch[1:]})"'
    return box + lines + (f">{tip}</rect>" if tip else "/>")
