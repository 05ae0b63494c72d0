"""A picture: a matplotlib Axes that a notebook shows, on light pages and on dark ones.

The data of an empty picture are pixels from its upper left corner, so a drawing is boxes, texts and
arrows at places; a plot has axes of its own.

A notebook's theme may be another than the system's, and it may change while the picture is on the
page. So a running notebook gets an `<img>` whose SVG says light-dark(…) for every color that
depends on the theme: JupyterLab, Notebook and our site say on the page which one is on, and an
image asks it. Where none is known it's a white card with dark ink. JupyterLab keeps such an image
in a notebook that isn't trusted, too; GitHub doesn't, so a built lesson has a PNG (LAB_STATIC=1).
"""

import base64
import io
import os
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline
from matplotlib.transforms import Affine2D

from helpers.draw.style import BAND, CARD, FONTS, GRID, HATCHED, INK, MUTED, THEMES, WAIT, ink_on
from helpers.draw.texts import FONT, PAD, WIDE, width_of, wrapped
from helpers.draw.themed import PICTURE, compressed, static
from helpers.files import write_whole

COLORS, DENSE = 256, 1.5  # of a PNG: its colors, its pixels for each of a page
PT = 0.75  # of a pixel, as a figure has 96 to the inch
STYLE = {
    **{"font.family": FONT, "font.size": 12 * PT, "axes.unicode_minus": True},
    **{"svg.fonttype": "none", "svg.hashsalt": "lab", "hatch.linewidth": 0.9},
    **{"text.hinting": "no_hinting", "lines.solid_capstyle": "butt"},  # the first is quicker
    **{"text.color": INK, "text.parse_math": False, "axes.edgecolor": MUTED},
    **{"axes.facecolor": CARD, "figure.facecolor": CARD, "grid.color": GRID},
    **{"xtick.color": MUTED, "ytick.color": MUTED, "axes.labelcolor": MUTED},
    **{"xtick.labelsize": 11 * PT, "ytick.labelsize": 11 * PT, "axes.labelsize": 11 * PT},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True},
}
styled = matplotlib.rc_context(STYLE)  # a decorator: the function draws in this style
TENTH = re.compile(r"(\d\.\d)\d+")
HATCHING = {"facecolor": BAND, "edgecolor": WAIT, "hatch": "//////", "lw": 0}


class Picture(Axes):
    """A matplotlib Axes that a notebook shows; draw on it as on any other."""

    alt = ""  # what it shows, in words, for readers who can't see it
    page: Affine2D  # the transform of pixels from the figure's upper left corner
    # What to draw when everything else is there, such as names at the ends of curves.
    late: Callable[["Picture"], None] | None = None

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"

    __str__ = __repr__  # what a terminal is told

    @styled
    def _written(self, kind: str, **options) -> bytes:
        file, before = io.BytesIO(), set(self.get_children())
        if self.late:
            self.late(self)
        self.figure.savefig(file, format=kind, **options)
        for artist in set(self.get_children()) - before:
            artist.remove()
        return file.getvalue()

    def svg(self) -> str:
        """Return the text of an SVG file for light and dark pages, always the same."""
        svg = self._written("svg", metadata={"Date": None}).decode()
        svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
        svg = re.sub(r"\s*\n\s*", " ", svg[svg.index("<svg") :].strip()).replace("> <", "><")
        # A tenth of a point will do, in attributes only: labels have digits, too.
        svg = re.sub(r' (?:d|x|y|transform)="[^"]*"', lambda m: TENTH.sub(r"\1", m[0]), svg)
        svg = re.sub(r' transform="rotate\(-?0 [^)]*\)"|font-family: [^;"]*;? ?', "", svg)
        for side, size in (("width", self.wide), ("height", self.high)):
            svg = re.sub(rf'(<svg [^>]*?){side}="[^"]*"', rf'\1{side}="{size}"', svg, count=1)
        # Matplotlib leaves out what is black, such as a text that a student adds: it takes the ink.
        look = f"color-scheme: light dark; font-family: {FONTS}; fill: {INK.lower()}"
        title = f"<title>{escape(self.alt, quote=False)}</title>"
        svg = re.sub("<svg([^>]*)>", rf'<svg role="img" style="{look}"\1>', svg, count=1)
        for color, dark in THEMES.items():
            svg = re.sub(rf'(fill|stroke)="{color}"', rf'style="\1: {color}"', svg)  # of hatching
            both = rf"\1: {color}; \1: light-dark({color}, {dark})"  # an old viewer keeps the first
            svg = re.sub(rf"(fill|stroke): {color}", both, svg)
        return svg.replace(">", f">{title}", 1) + "\n"

    def png(self) -> bytes:
        """Return the bytes of a PNG file, for light pages; a drawing needs few colors."""
        from PIL import Image

        data, wide = self._written("rgba", dpi=96 * DENSE), int(self.wide * DENSE)
        drawn = Image.frombytes("RGBA", (wide, len(data) // (4 * wide)), data).convert("RGB")
        few, file = drawn.quantize(COLORS, dither=Image.Dither.NONE), io.BytesIO()
        few.save(file, "png")
        return file.getvalue()

    def save(self, path: str | os.PathLike) -> Path:
        ending = Path(path).suffix.lower()
        if ending not in (".svg", ".png"):
            raise ValueError(f"cannot save a picture as {path}: the name must end in .svg or .png")
        return write_whole(path, self.svg() if ending == ".svg" else self.png())

    # Pixels of the whole.
    wide = property(lambda self: round(96 * self.figure.get_figwidth()))
    high = property(lambda self: round(96 * self.figure.get_figheight()))

    def _repr_html_(self) -> str | None:
        if static():
            return None  # IPython would add it to the bundle
        # On one line, and as few characters as possible: quotes inside are single ones.
        svg = re.sub("<title>.*?</title>", "", self.svg().strip(), flags=re.DOTALL)
        source = quote(svg.replace('"', "'"), safe=" ='/:;,.()!*@$+?[]{}|~^-_")
        return (
            f'<img alt="{escape(self.alt)}" width="{self.wide}" style="max-width: 100%" '
            f'src="data:image/svg+xml,{source}">'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict | tuple[dict, dict]:
        if not static():
            return {"text/html": self._repr_html_(), "text/plain": self.alt}
        png = base64.b64encode(self.png()).decode()
        data = {"image/png": png, PICTURE: {"svg": compressed(self.svg())}, "text/plain": self.alt}
        return data, {"image/png": {"alt": self.alt, "width": self.wide}}


@styled
def canvas(height: float, title="", around=(0, PAD, PAD, PAD), axes=False) -> Picture:
    """Return an empty picture, its title above it in as many lines as it takes.

    height: of the data, in pixels. around: pixels above, right of, below and left of them. axes:
    whether the data have axes; else they are pixels from their upper left corner.
    """
    lines = wrapped(title, 15, WIDE - 2 * PAD, bold=True)
    above, right, below, left = around
    high = PAD + 20 * len(lines) + (8 if lines else 0) + above + height + below
    figure = Figure(figsize=(WIDE / 96, high / 96), dpi=96)
    place = (left / WIDE, below / high, (WIDE - left - right) / WIDE, height / high)
    ax = figure.add_axes(place, axes_class=Picture)
    ax.page = Affine2D().scale(1 / WIDE, -1 / high).translate(0, 1) + figure.transFigure
    ax.alt = title
    for number, line in enumerate(lines):
        write(ax, PAD, PAD + 8 + 20 * number, line, 15, bold=True, page=True)
    if not axes:
        ax.set(xlim=(0, WIDE - left - right), ylim=(height, 0))
        ax.set_axis_off()
    return ax


def write(
    ax: Picture, x, y, text: str, size=12.0, color=INK, at="left", bold=False, page=False, behind=""
) -> None:
    """Write a text whose middle line is at y, and whose left, center or right (`at`) is at x; with
    `page` these are pixels of the page, not data. behind: a color below it."""
    look = {"size": size * PT, "color": color, "ha": at, "va": "center_baseline", "zorder": 4}
    look["bbox"] = {"facecolor": behind, "lw": 0, "pad": 1.5} if behind else None
    look |= {"transform": ax.page} if page else {}
    ax.text(x, y, text, weight="bold" if bold else "normal", clip_on=False, **look)


def boxes(ax: Picture, spans: Sequence, rows: Sequence, color: str, **look) -> PathPatch:
    """Draw boxes of one look as one path, which is small and quick. spans, rows: (x, width) and
    (y, height) of each; they don't change the limits of axes."""
    (x, wide), (y, high) = np.array(spans, float).T, np.array(rows, float).T
    corners = np.stack([[x, y], [x + wide, y], [x + wide, y + high], [x, y + high]])
    path = Outline.make_compound_path_from_polys(corners.transpose(2, 0, 1))
    plain = HATCHING if color == HATCHED else {"facecolor": color, "lw": 0}
    return ax.add_artist(PathPatch(path, **({"clip_on": False} | plain | look)))


def box(ax: Picture, x, y, wide, high, color, text="", size=12.0, bold=False, **look) -> None:
    """Draw one box with a text in its middle, in the ink that reads on it, if it fits."""
    boxes(ax, [(x, wide)], [(y, high)], color, **look)
    if text and width_of(text, size, bold) <= wide:
        ink = ink_on(color, look.get("alpha", 1.0))
        behind = BAND if color == HATCHED else ""
        write(ax, x + wide / 2, y + high / 2, text, size, ink, "center", bold, behind=behind)


def arrow(ax: Picture, start, end, color: str = INK, width: float = 1.2) -> None:
    head = 0.2 + 0.1 * width
    style = f"-|>,head_length={2 * head},head_width={head}"
    look = {"color": color, "lw": width * PT, "arrowstyle": style, "clip_on": False}
    look |= {"shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=look, annotation_clip=False)


def legend(ax: Picture, rows: Sequence[Sequence[tuple]], y: float) -> None:
    """Draw the swatches of `legend_rows`, each with its letter and its word, from y down."""
    for row, placed in enumerate(rows):
        for x, swatch, color, letter, word in placed:
            top, flat = y + 20 * row, color == WAIT and not letter
            if flat:  # a line on what is below it
                boxes(ax, [(x, swatch)], [(top, 14)], BAND, transform=ax.page)
            high = (top + 6.4, 1.2) if flat else (top, 14)
            boxes(ax, [(x, swatch)], [high], color, transform=ax.page)
            middle, ink = x + swatch / 2, ink_on(color)
            write(ax, middle, top + 7, letter, 10, ink, "center", bold=True, page=True)
            write(ax, x + swatch + 5, top + 7, word, 11, page=True)
