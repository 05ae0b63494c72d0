"""Shapes as PNG, through matplotlib's Agg canvas: no window, no pyplot, no state left behind."""

import io
from itertools import groupby

from helpers.draw.picture import HATCH, Canvas, Line, Polygon, Rect, Text


def to_png(canvas: Canvas, title: str, alt: str, scale: float = 2.0) -> bytes:
    """Return the picture as the bytes of a PNG file, with its title and description inside.

    scale: pixels of the file per pixel of the picture; 2 is sharp on every screen.
    """
    # Imported here, because an SVG should not cost the second that matplotlib takes.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    dpi = 72  # so that a point, in which matplotlib measures fonts and lines, is a pixel
    size = canvas.width / dpi, canvas.height / dpi
    figure = Figure(figsize=size, dpi=dpi * scale, facecolor=canvas.theme.background)
    agg = FigureCanvasAgg(figure)
    for style, shapes in groupby(canvas.shapes, key=_style):
        _add(figure, style, list(shapes), canvas.height, scale)
    agg.draw()
    return _encoded(agg, title, alt)


def _encoded(agg, title: str, alt: str) -> bytes:
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    facts = PngInfo()
    facts.add_itxt("Title", title)
    facts.add_itxt("Description", alt)
    image = Image.frombytes("RGBA", agg.get_width_height(), bytes(agg.buffer_rgba()))
    # Flat colors: 256 of them look the same and take a third of the bytes.
    image = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True, pnginfo=facts)
    return buffer.getvalue()


def _style(shape) -> tuple:
    """Return what neighbors must share to be drawn as one path."""
    match shape:
        case Rect():
            return ("rect", shape.fill, shape.hatch)
        case Polygon():
            return ("polygon", shape.fill)
        case Line():
            return ("line", shape.color, shape.width, shape.dash)
        case Text():
            return ("text",)
    raise TypeError(f"no such shape: {shape!r}")


def _add(figure, style: tuple, shapes: list, height: float, scale: float) -> None:
    from matplotlib.transforms import Affine2D

    place = Affine2D().scale(scale, -scale).translate(0, scale * height)
    if style[0] == "text":
        for text in shapes:
            _add_text(figure, text, place)
    elif style[0] == "line":
        _, color, width, dash = style
        dashes = {"linestyle": (0, [d / width for d in dash])} if dash else {}
        outlines = [shape.points for shape in shapes]
        _add_path(figure, outlines, False, place, edgecolor=color, linewidth=width, **dashes)
    elif style[0] == "polygon":
        outlines = [shape.points for shape in shapes]
        _add_path(figure, outlines, True, place, facecolor=style[1], linewidth=0)
    else:
        _, fill, hatch = style
        outlines = [_corners(shape) for shape in shapes]
        _add_path(figure, outlines, True, place, facecolor=fill, linewidth=0)
        if hatch:
            strokes = [stroke for shape in shapes for stroke in _hatching(shape)]
            _add_path(figure, strokes, False, place, edgecolor=hatch, linewidth=1)


def _add_path(figure, outlines: list, closed: bool, place, **look) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points, codes = [], []
    for outline in outlines:
        points += [*outline, outline[0]] if closed else outline
        codes += [Path.MOVETO, *[Path.LINETO] * (len(outline) - 1)]
        codes += [Path.CLOSEPOLY] if closed else []
    if points:
        look = {"fill": closed, "joinstyle": "round", "capstyle": "butt"} | look
        figure.add_artist(PathPatch(Path(points, codes), transform=place, **look))


def _add_text(figure, text: Text, place) -> None:
    from matplotlib.font_manager import FontProperties

    weight = "bold" if text.bold else "normal"
    font = FontProperties(family="DejaVu Sans", size=text.size, weight=weight)
    anchor = {"start": "left", "middle": "center", "end": "right"}[text.anchor]
    x, y = place.transform((text.x, text.y + 0.36 * text.size))
    figure.text(
        x, y, text.text, color=text.color, fontproperties=font, ha=anchor, va="baseline",
        transform=None, parse_math=False,
    )  # fmt: skip


def _corners(r: Rect) -> list:
    right, bottom = r.x + r.width, r.y + r.height
    return [(r.x, r.y), (right, r.y), (right, bottom), (r.x, bottom)]


def _hatching(r: Rect) -> list:
    """Return the rising diagonals x + y = n * HATCH inside the box, as SVG's pattern has them."""
    strokes = []
    right, bottom = r.x + r.width, r.y + r.height
    n = int((r.x + r.y) // HATCH)
    while n * HATCH < right + bottom:
        total = n * HATCH
        low, high = max(r.x, total - bottom), min(right, total - r.y)
        if low < high:
            strokes.append([(low, total - low), (high, total - high)])
        n += 1
    return strokes
