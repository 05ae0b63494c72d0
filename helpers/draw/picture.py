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
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

from helpers.draw.style import THEMES, Theme, ink_on, sides
from helpers.draw.style import theme as theme_called
from helpers.draw.text import width_of, wrapped
from helpers.files import write_whole

Point = tuple[float, float]
HATCH = 5  # pixels from one line to the next
PAD = 14  # pixels between the edge and what is drawn
FLAT_LINE = "-"  # in a legend: what a lane shows of a rank that has finished
COLORS = ("fill", "hatch", "color")  # of a shape
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
    color: str
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
    color: str
    anchor: str = "start"  # "start", "middle", "end"
    bold: bool = False


@dataclass(slots=True)
class Canvas:
    """A picture being drawn.

    width, height: pixels; the height is mostly set last. Colors are those of a light page and of a
    dark one at once; theme says which a file has, "light" or "dark".
    """

    width: float = WIDE
    height: float = 0
    theme: Theme | str = "light"
    shapes: list[Rect | Line | Polygon | Text] = field(default_factory=list)

    def __post_init__(self):
        if isinstance(self.theme, str):
            self.theme = theme_called(self.theme)

    def flat(self) -> "Canvas":
        """Return the canvas in the colors of its own theme alone, for a file."""
        side = list(THEMES).index(self.theme.name)
        shapes = [
            replace(s, **{n: sides(getattr(s, n))[side] for n in COLORS if hasattr(s, n)})
            for s in self.shapes
        ]
        return Canvas(self.width, self.height, THEMES[self.theme.name], shapes)

    def rect(self, x, y, width, height, fill, tip="", hatch="") -> None:
        self.shapes.append(Rect(x, y, width, height, fill, tip, hatch))

    def line(self, points: list[Point], color: str, width=1.0, dash=()) -> None:
        self.shapes.append(Line(points, color, width, tuple(dash)))

    def polygon(self, points: list[Point], fill: str) -> None:
        self.shapes.append(Polygon(points, fill))

    def text(
        self, x, y, text, size=12.0, color: str | None = None, anchor="start", bold=False
    ) -> None:
        color = color or self.theme.text
        self.shapes.append(Text(x, y, text, size, color, anchor, bold))

    def heading(self, title: str) -> float:
        """Write the title at the top, in as many lines as it takes; return the y below it."""
        y = PAD
        for line in wrapped(title, 15, self.width - 2 * PAD, bold=True):
            self.text(PAD, y + 8, line, 15, bold=True)
            y += 20
        return y

    def note(self, words: str, y: float) -> float:
        """Write facts below a title, or in the place of one; return the y below them."""
        for line in wrapped(words, 12, self.width - 2 * PAD):
            self.text(PAD, y + 7, line, 12, self.theme.muted)
            y += 17
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

        What has no color is hatched, as waiting is, and `FLAT_LINE` is a line. What finds no room
        goes into another row.
        """
        left, below = x, y
        for letter, color, word in entries:
            swatch = max(16.0, width_of(letter, 10, bold=True) + 6)
            needed = swatch + 5 + width_of(word, 11)
            if x + needed > self.width - left:
                x, y = left, y + 20
            hatch = "" if color else self.theme.wait
            fill = self.theme.band if color in ("", FLAT_LINE) else color
            self.box(x, y, swatch, 14, fill, letter, 10, True, hatch=hatch)
            if color == FLAT_LINE:
                self.line([(x, y + 7), (x + swatch, y + 7)], self.theme.wait, 1.5)
            self.text(x + swatch + 5, y + 7, word, 11)
            x, below = x + needed + 16, y + 16
        return below

    def disc(self, middle: Point, radius: float, fill: str) -> None:
        turns = [2 * math.pi * i / 24 for i in range(24)]
        x, y = middle
        self.polygon([(x + radius * math.cos(a), y + radius * math.sin(a)) for a in turns], fill)

    def arrow(self, start: Point, end: Point, color: str, width=1.0, head=5.0) -> None:
        """Add a straight arrow with a filled head whose tip is at `end`."""
        (x0, y0), (x1, y1) = start, end
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        if length == 0:
            return
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        head = min(head, length)
        bx, by = x1 - head * ux, y1 - head * uy
        self.line([start, (bx, by)], color, width)
        side = 0.42 * head
        self.polygon(
            [(x1, y1), (bx - side * uy, by + side * ux), (bx + side * uy, by - side * ux)], color
        )


class Picture:
    """A picture with its title and its alternative text.

    title: what was found, in one line. alt: what the picture says, for a screen reader. A running
    notebook shows it in the colors of its theme (`helpers.draw.themed`), a file has one theme.
    """

    def __init__(self, canvas: Canvas, title: str, alt: str):
        self.canvas, self.title, self.alt = canvas, title, alt

    def svg(self) -> str:
        """Return the text of an SVG file, which is always the same for the same picture."""
        from helpers.draw.svg import to_svg

        return to_svg(self.canvas.flat(), self.title, self.alt)

    def png(self, scale: float = 2.0) -> bytes:
        """Return the bytes of a PNG file. scale: pixels of the file per pixel of the picture."""
        from helpers.draw.png import to_png  # matplotlib, where it is needed

        return to_png(self.canvas.flat(), self.title, self.alt, scale)

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

    def _repr_html_(self) -> str | None:
        from helpers.draw.themed import live_html, static

        return None if static() else live_html(self)

    def image(self) -> str:
        """Return an HTML image with its alternative text, which notebooks drop from a plain PNG."""
        data = base64.b64encode(self.png()).decode()
        return (
            f'<img alt="{escape(self.alt)}" width="{self.canvas.width:g}" '
            f'style="max-width: 100%" src="data:image/png;base64,{data}">'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict | tuple[dict, dict]:
        from helpers.draw.themed import kept, static

        if not static():
            return {"text/html": self._repr_html_(), "text/plain": repr(self)}
        facts = {"alt": self.alt, "width": round(self.canvas.width)}
        data = {"image/png": base64.b64encode(self.png()).decode(), "text/plain": repr(self)}
        return data | kept(self), {"image/png": facts}
