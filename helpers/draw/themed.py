"""One picture for a light page and a dark one.

A notebook's theme may be another than the system's, and it may change while the picture is on the
page. So a color that differs between them is CSS's `light-dark(…)`. `STYLE` says which of the two
counts, in JupyterLab, Notebook and VS Code; a page that sets `color-scheme` needs no more.

A notebook from elsewhere isn't trusted, and then JupyterLab takes `<svg>` and `<style>` out of its
outputs. What's left of `live_html` is a PNG, on its own light background.
"""

import base64
import os
import zlib
from collections.abc import Mapping, Sequence
from html import escape

from helpers.draw.picture import Picture
from helpers.draw.svg import to_svg

PICTURE = "application/x-lab-picture+json"  # {"svg": compressed}: for both themes, and sharp
STEPS = "application/x-lab-steps+json"  # {step, series: [[name, [{svg, alt}]]]}: to step through
# Who says which theme is on: JupyterLab and Notebook on <body>, VS Code on <body> too.
LIGHT_PAGES = ('[data-jp-theme-light="true"]', ".vscode-light", ".vscode-high-contrast-light")
DARK_PAGES = ('[data-jp-theme-light="false"]', ".vscode-dark", ".vscode-high-contrast")


def _style() -> str:
    def rule(pages: tuple[str, ...], scheme: str) -> str:
        chosen = ", ".join(f"{page} .lab-picture" for page in pages)
        return f"{chosen} {{ color-scheme: {scheme}; }}\n"

    return (
        ".lab-picture > img { display: none; }\n"
        ".lab-picture svg { max-width: 100%; height: auto; }\n"
        + rule(LIGHT_PAGES, "light")
        + rule(DARK_PAGES, "dark")
        # A light theme of high contrast has both of VS Code's names.
        + rule((".vscode-high-contrast-light",), "light")
    )


STYLE = _style()


def themed_svg(picture: Picture) -> str:
    """Return the picture as an SVG for inside a page, in the colors of the theme it stands in."""
    return to_svg(picture.canvas, picture.title, picture.alt, names=False)


def themed_file(picture: Picture) -> str:
    """Return the same as the text of a file, which asks the page that shows it for its theme."""
    return themed_svg(picture).replace("<svg ", '<svg style="color-scheme: light dark" ', 1)


def static() -> bool:
    """Return whether pictures must work without a kernel: `make notebooks` sets LAB_STATIC=1."""
    return os.environ.get("LAB_STATIC") == "1"


def kept(picture: Picture) -> dict[str, dict]:
    """Return, by MIME type, what a built lesson keeps of the picture for its page of the site."""
    return {PICTURE: {"svg": packed(picture)}} if static() else {}


def packed(picture: Picture) -> str:
    """Return a picture for both themes, as JSON can hold it."""
    return base64.b64encode(zlib.compress(themed_file(picture).encode(), 9)).decode()


def in_steps(series: Mapping[str, Sequence[Picture]], step: str = "step") -> dict:
    """Return what `STEPS` holds. step: what the number of a picture counts.

    The series are a list, because a notebook's file sorts the names of a mapping.
    """
    frames = {
        name: [{"svg": packed(each), "alt": each.alt} for each in pictures]
        for name, pictures in series.items()
    }
    return {"step": step, "series": [*map(list, frames.items())]}


def live_html(picture: Picture) -> str:
    """Return what a running notebook shows: the SVG, and the PNG where no SVG may be."""
    return framed(themed_svg(picture), picture.image())


def framed(svg: str, image: str = "") -> str:
    """Return an SVG of `themed_svg` with the style that chooses its colors."""
    return f'<div class="lab-picture"><style>{STYLE}</style>{svg}{image}</div>'


def hint(words: str) -> str:
    """Return the line below a picture that says what the reader can do with it."""
    style = "margin: 4px 0; opacity: 0.75; font-size: 0.9em"
    return f'<p class="lab-hint" style="{style}">{escape(words)}</p>'
