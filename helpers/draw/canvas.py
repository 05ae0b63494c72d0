"""What a picture is made of: a list of simple shapes in pixels.

Drawing code says what goes where; `svg` and `png` turn the same list into a file. The origin is
the upper left corner, y grows downwards. A width of 900 is a notebook's.
"""

from dataclasses import dataclass, field

from helpers.draw.style import LIGHT, Theme

Point = tuple[float, float]


@dataclass(slots=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    fill: str
    tip: str = ""  # shown under the pointer where a viewer can
    hatch: str = ""  # colour of diagonal lines over the fill


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
    """A picture being drawn. width, height: pixels."""

    width: float
    height: float
    theme: Theme = LIGHT
    shapes: list[Rect | Line | Polygon | Text] = field(default_factory=list)

    def rect(self, x, y, width, height, fill, tip="", hatch="") -> None:
        self.shapes.append(Rect(x, y, width, height, fill, tip, hatch))

    def line(self, points: list[Point], colour: str, width=1.0, dash=()) -> None:
        self.shapes.append(Line(points, colour, width, tuple(dash)))

    def polygon(self, points: list[Point], fill: str) -> None:
        self.shapes.append(Polygon(points, fill))

    def text(self, x, y, text, size=12.0, colour=None, anchor="start", bold=False) -> None:
        colour = colour or self.theme.text
        self.shapes.append(Text(x, y, text, size, colour, anchor, bold))

    def arrow(self, start: Point, end: Point, colour: str, width=1.0, head=5.0) -> None:
        """A straight arrow with a filled head whose tip is at `end`."""
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
