"""Shapes as the text of an SVG file, which is always the same for the same picture."""

from html import escape
from itertools import groupby

from helpers.draw.picture import HATCH, Canvas, Line, Polygon, Rect, Text
from helpers.draw.style import FONTS


def to_svg(canvas: Canvas, title: str, alt: str, names: bool = True) -> str:
    """Return the picture as the text of an SVG file.

    names: whether title and alternative text are elements too. Inside of a page the first would
    pop up wherever the pointer rests.
    """
    width, height = _n(canvas.width), _n(canvas.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{_e(alt, quote=True)}" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONTS}">',
        *([f"<title>{_e(title)}</title>", f"<desc>{_e(alt)}</desc>"] if names else []),
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
    colors = sorted({s.hatch for s in canvas.shapes if isinstance(s, Rect) and s.hatch})
    if not colors:
        return []
    rows = [
        f'<pattern id="{_pattern(c)}" width="{HATCH}" height="{HATCH}" '
        f'patternUnits="userSpaceOnUse"><path d="M-1 1L1 -1M0 {HATCH}L{HATCH} 0M{HATCH - 1} '
        f'{HATCH + 1}L{HATCH + 1} {HATCH - 1}" stroke="{c}"/></pattern>'
        for c in colors
    ]
    return ["<defs>", *rows, "</defs>"]


def _pattern(color: str) -> str:
    return "hatch-" + "".join(c for c in color if c.isalnum())


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
                f'<polyline points="{_points(shape.points)}" fill="none" stroke="{shape.color}" '
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
                f'fill="{shape.color}"{anchor}{weight}>{_e(shape.text)}</text>'
            )
    raise TypeError(f"no such shape: {shape!r}")


def _rect(r: Rect) -> str:
    place = f'x="{_n(r.x)}" y="{_n(r.y)}" width="{_n(r.width)}" height="{_n(r.height)}"'
    tip = f"<title>{_e(r.tip)}</title>" if r.tip else ""
    box = f'<rect {place} fill="{r.fill}"' + (f">{tip}</rect>" if tip else "/>")
    if not r.hatch:
        return box
    lines = f'<rect {place} fill="url(#{_pattern(r.hatch)})"'
    return box + lines + (f">{tip}</rect>" if tip else "/>")
