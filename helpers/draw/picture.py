"""A finished picture: saved as SVG or PNG, shown in a notebook, readable without eyes."""

import base64
import os
from html import escape
from pathlib import Path

from helpers.draw.canvas import Canvas
from helpers.draw.png import to_png
from helpers.draw.svg import to_svg
from helpers.files import write_whole


class Picture:
    """A picture with its title and its alternative text.

    title: what was found, in one line. alt: what the picture says, for readers who do not see it.
    """

    def __init__(self, canvas: Canvas, title: str, alt: str):
        self.canvas, self.title, self.alt = canvas, title, alt

    def svg(self) -> str:
        """The text of an SVG file; the same picture always gives the same text."""
        return to_svg(self.canvas, self.title, self.alt)

    def png(self, scale: float = 2.0) -> bytes:
        """The bytes of a PNG file. scale: pixels of the file per pixel of the picture."""
        return to_png(self.canvas, self.title, self.alt, scale)

    def save(self, path: str | os.PathLike) -> Path:
        """Write a .svg or .png file, whole or not at all. ValueError for another ending."""
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
        """An image with its alternative text, which notebooks drop from a plain PNG."""
        data = base64.b64encode(self.png()).decode()
        return (
            f'<img alt="{escape(self.alt)}" width="{self.canvas.width:g}" '
            f'style="max-width: 100%" src="data:image/png;base64,{data}">'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}
