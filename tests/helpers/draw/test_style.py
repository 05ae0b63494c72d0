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
    cause,
    ink_on,
    look,
    painted,
    see_through,
    theme,
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
    for color in (each.text, each.muted):
        assert contrast(color, each.background) >= 4.5
        assert contrast(color, each.band) >= 4.5


def test_forward_and_backward_differ_in_a_gray_print():
    for a, b in itertools.combinations("FB", 2):
        assert contrast(LOOKS[a].color, LOOKS[b].color) > 2


def test_unknown_theme():
    with pytest.raises(ValueError, match="no theme 'blue': choose 'light' or 'dark'"):
        theme("blue")


def test_kinds_differ_by_letter_not_by_color_alone():
    letters = [LOOKS[kind].letter for kind in ("F", "B", "I", "W", "update", "input")]
    assert len(set(letters)) == len(letters)


def test_css_gets_its_colors_from_the_palette():
    assert painted("a { color: var(--palette-vermillion); b: var(--own) }") == (
        f"a {{ color: {VERMILLION}; b: var(--own) }}"
    )
    assert painted("var(--palette-dark-band)") == DARK.band
    assert painted("var(--palette-F) var(--palette-on-F)") == f"{look('F').color} #FFFFFF"
    assert see_through(VERMILLION, 0.2) == "rgba(213, 94, 0, 0.20)"
    with pytest.raises(ValueError, match=r"no color for var\(--palette-red\): choose from black, "):
        painted("a { color: var(--palette-red) }")


HUES = re.compile(
    r"\b(BLACK|ORANGE|SKY|GREEN|YELLOW|BLUE|VERMILLION|PURPLE|NAVY|BROWN|PALE|(?:LIGHT_|DARK_)?GRAY)\b"
)
RAW = re.compile(
    r"""["']#[0-9a-fA-F]{3,8}["']|\brgba?\(|\b(?:tab|xkcd):\w+|\bcolou?rs?\s*=\s*["'][#\w]|\bcolor=|\.colors\b"""
)


def raw_colors(code: str) -> list[str]:
    """What in Python code names a color by its hue, and not by what it stands for."""
    return HUES.findall(code) + RAW.findall(code)


def test_no_lesson_and_no_drawing_picks_a_color():
    lessons = [*ROOT.glob("notebooks/source/*.py")]
    drawings = {*ROOT.glob("helpers/draw/*.py"), *ROOT.glob("helpers/cluster/*.py")} - {STYLE}
    assert len(lessons) > 20 and len(drawings) > 25
    assert raw_colors(STYLE.read_text(encoding="utf-8"))
    for bad in ('fill="#0072B2"', "style.BLUE", "color='red'", "plot(x, c='tab:blue')"):
        assert raw_colors(bad)
    found = {}
    for path in (*lessons, *drawings):
        lines = path.read_text(encoding="utf-8").splitlines()
        code = "\n".join(line for line in lines if not line.startswith("#"))
        if path.name not in ("svg.py", "png.py", "themed.py") and (named := raw_colors(code)):
            found[path.name] = named
    assert not found, f"ask for cause(…), RANKS or CURVES of helpers.draw.style: {found}"


def test_a_cause_without_a_color_is_refused():
    with pytest.raises(ValueError, match="no cause 'wasted' has a color: choose from forward, "):
        cause("wasted")


def elsewhere(text: str) -> list[str]:
    """The palette's colors that a text writes: #0072B2, #0072b280 or rgb(0, 114, 178)."""
    plain = {color[1:].upper() for color in PALETTE.values()} - {"FFFFFF", "000000"}
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
