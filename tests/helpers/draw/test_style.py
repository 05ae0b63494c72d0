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
    theme,
)
from helpers.trace import KINDS

ROOT = Path(__file__).resolve().parents[3]
STYLE = ROOT / "helpers/draw/style.py"


def luminance(colour: str) -> float:
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_letters_can_be_read_on_their_boxes(kind):
    assert contrast(look(kind).colour, ink_on(look(kind).colour)) >= 4.5


@pytest.mark.parametrize("each", [LIGHT, DARK])
def test_text_can_be_read_on_the_background(each):
    for colour in (each.text, each.muted):
        assert contrast(colour, each.background) >= 4.5
        assert contrast(colour, each.band) >= 4.5


def test_forward_and_backward_differ_in_a_grey_print():
    for a, b in itertools.combinations("FB", 2):
        assert contrast(LOOKS[a].colour, LOOKS[b].colour) > 2


def test_unknown_theme():
    with pytest.raises(ValueError, match="no theme 'blue': choose 'light' or 'dark'"):
        theme("blue")


def test_kinds_differ_by_letter_not_by_colour_alone():
    letters = [LOOKS[kind].letter for kind in ("F", "B", "I", "W", "update", "input")]
    assert len(set(letters)) == len(letters)


def test_css_gets_its_colors_from_the_palette():
    assert painted("a { color: var(--palette-vermillion); b: var(--own) }") == (
        f"a {{ color: {VERMILLION}; b: var(--own) }}"
    )
    assert painted("var(--palette-dark-band)") == DARK.band
    assert painted("var(--palette-F) var(--palette-on-F)") == f"{look('F').colour} #FFFFFF"
    assert see_through(VERMILLION, 0.2) == "rgba(213, 94, 0, 0.20)"
    with pytest.raises(ValueError, match=r"no color for var\(--palette-red\): choose from black, "):
        painted("a { color: var(--palette-red) }")


def elsewhere(text: str) -> list[str]:
    """The palette's colors that a text writes: #0072B2, #0072b280 or rgb(0, 114, 178)."""
    plain = {colour[1:].upper() for colour in PALETTE.values()} - {"FFFFFF", "000000"}
    hexes = re.findall(r"#([0-9a-fA-F]{6})(?:[0-9a-fA-F]{2})?\b", text)
    numbers = re.findall(r"rgba?\(\s*(\d+)[,\s]+(\d+)[,\s]+(\d+)", text)
    found = [*hexes, *("".join(f"{int(n):02x}" for n in row) for row in numbers)]
    return [each for each in found if each.upper() in plain]


def test_no_other_file_writes_a_color_of_the_palette():
    kinds, others = (".py", ".css", ".js", ".mjs", ".html", ".md"), ("tests", "build")
    tops = [top for top in ROOT.glob("[!.]*/") if top.name not in others]
    paths = [path for top in tops for path in top.rglob("*") if path.suffix in kinds]
    assert len(paths) > 300 and len(elsewhere(STYLE.read_text(encoding="utf-8"))) > 15
    texts = {path: path.read_text(encoding="utf-8") for path in paths if path != STYLE}
    found = {str(path): colors for path, text in texts.items() if (colors := elsewhere(text))}
    assert not found, f"write var(--palette-…), or import the name from helpers.draw.style: {found}"


def test_each_color_that_a_style_sheet_asks_for_is_one():
    for path in [*ROOT.glob("helpers/*/assets/*"), *ROOT.glob("tools/pages/assets/*")]:
        if path.suffix in (".css", ".html"):
            painted(path.read_text(encoding="utf-8"))  # raises an error where there is none
