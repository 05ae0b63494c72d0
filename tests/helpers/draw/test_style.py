"""One palette: readable letters, colors that differ in light and dark."""

import itertools
import re
from pathlib import Path

import pytest

from helpers.draw.style import (
    DARK,
    LIGHT,
    LOOKS,
    PALETTE,
    VERMILLION,
    ink_on,
    look,
    painted,
    see_through,
)
from helpers.trace import KINDS

ROOT = Path(__file__).resolve().parents[3]
STYLE = ROOT / "helpers/draw/style.py"


def luminance(color: str) -> float:
    shares = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_letters_can_be_read_on_their_boxes(kind):
    assert contrast(look(kind).color, ink_on(look(kind).color)) >= 4.5


@pytest.mark.parametrize("each", [LIGHT, DARK])
def test_text_can_be_read_on_the_background(each):
    for color in (each["text"], each["muted"]):
        assert contrast(color, each["background"]) >= 4.5
        assert contrast(color, each["band"]) >= 4.5


def test_forward_and_backward_differ_in_a_gray_print():
    for a, b in itertools.combinations("FB", 2):
        assert contrast(LOOKS[a].color, LOOKS[b].color) > 2


def test_kinds_differ_by_letter_not_by_color_alone():
    letters = [LOOKS[kind].letter for kind in ("F", "B", "I", "W", "update", "input")]
    assert len(set(letters)) == len(letters)


def test_css_gets_its_colors_from_the_palette():
    assert painted("a { color: var(--palette-vermillion); b: var(--own) }") == (
        f"a {{ color: {VERMILLION}; b: var(--own) }}"
    )
    assert (
        painted("var(--palette-dark-band) var(--palette-light-gray)") == f"{DARK['band']} #B4B9C0"
    )
    assert painted("var(--palette-F) var(--palette-on-F)") == f"{look('F').color} #FFFFFF"
    assert see_through(VERMILLION, 0.2) == "rgba(213, 94, 0, 0.20)"
    with pytest.raises(ValueError, match=r"no color for var\(--palette-red\): choose from "):
        painted("a { color: var(--palette-red) }")


RAW = re.compile(
    r"""["']#[0-9a-fA-F]{3,8}["']|\brgba?\(|\b(?:tab|xkcd):\w+|\bcolou?rs?\s*=\s*["'][#\w]|\.colors\b"""
)
PLACES = ("notebooks/source/*.py", "helpers/draw/*.py", "helpers/cluster/*.py")
SHEETS = ("helpers/*/assets/*", "site/static/*.css")


def raw_colors(code: str) -> list[str]:
    """What in Python code writes a color, and doesn't take one of the palette."""
    return RAW.findall(code)


def elsewhere(text: str) -> list[str]:
    """The palette's colors that a text writes: #0072B2, #0072b280 or rgb(0, 114, 178)."""
    plain = {color[1:].upper() for color in PALETTE.values()} - {"FFFFFF", "000000"}
    hexes = re.findall(r"#([0-9a-fA-F]{6})(?:[0-9a-fA-F]{2})?\b", text)
    numbers = re.findall(r"rgba?\(\s*(\d+)[,\s]+(\d+)[,\s]+(\d+)", text)
    found = [*hexes, *("".join(f"{int(n):02x}" for n in row) for row in numbers)]
    return [each for each in found if each.upper() in plain]


def test_no_file_picks_a_color():
    """No file writes one of the palette's, no lesson and no drawing names a hue, and each color
    that a style sheet asks for is there."""
    style = STYLE.read_text(encoding="utf-8")
    bad = ('fill="#0072B2"', "color='red'", "plot(x, c='tab:blue')", style)
    assert all(map(raw_colors, bad)) and len(elsewhere(style)) > 15
    drawing, sheets = ({p for each in them for p in ROOT.glob(each)} for them in (PLACES, SHEETS))
    kinds, others = (".py", ".css", ".js", ".mjs", ".html", ".md"), ("tests", "build")
    tops = [top for top in ROOT.glob("[!.]*/") if top.name not in others]
    paths = {path for top in tops for path in top.rglob("*") if path.suffix in kinds} - {STYLE}
    assert len(paths) > 300 and len(drawing & paths) > 35 and sheets & paths
    found = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        colors = elsewhere(text)
        if path in drawing:
            lines = [line for line in text.splitlines() if not line.startswith("#")]
            colors += raw_colors("\n".join(lines))
        if path in sheets and path.suffix in (".css", ".html"):
            painted(text)  # raises an error where there is no such color
        if colors:
            found[str(path)] = colors
    assert not found, (
        f"take CAUSES, RANKS or CURVES of helpers.draw.style, or write var(--palette-…): {found}"
    )
