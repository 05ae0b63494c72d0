"""One palette: readable letters, colors that differ in light, in dark and in a gray print."""

import re
from pathlib import Path

import pytest

from helpers.draw import style
from helpers.draw.style import DARK, LIGHT, VERMILLION, look, painted
from helpers.trace import KINDS

ROOT = Path(__file__).resolve().parents[3]


def contrast(a: str, b: str) -> float:
    lights = []
    for color in (a, b):
        shares = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
        lights.append(0.2126 * r + 0.7152 * g + 0.0722 * b)
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_letters_can_be_read_and_kinds_differ_by_more_than_a_hue():
    assert all(contrast(look(k).color, style.ink_on(look(k).color)) >= 4.5 for k in KINDS)
    assert contrast(style.LOOKS["F"].color, style.LOOKS["B"].color) > 2
    letters = [style.LOOKS[kind].letter for kind in ("F", "B", "I", "W", "update", "input")]
    assert len(set(letters)) == len(letters)
    for each in (LIGHT, DARK):
        for color in (each["text"], each["muted"]):
            assert min(contrast(color, each[behind]) for behind in ("background", "band")) >= 4.5


def test_css_gets_its_colors_from_the_palette():
    css = "a { color: var(--palette-vermillion); b: var(--own); c: var(--palette-dark-band) }"
    assert painted(css) == f"a {{ color: {VERMILLION}; b: var(--own); c: {DARK['band']} }}"
    assert painted("var(--palette-F) var(--palette-on-F)") == f"{look('F').color} #FFFFFF"
    assert style.see_through(VERMILLION, 0.2) == "rgba(213, 94, 0, 0.20)"
    with pytest.raises(KeyError, match="red"):
        painted("a { color: var(--palette-red) }")


HUE = r"""["']#[0-9a-fA-F]{3,8}["']|\brgba?\(|\b(?:tab|xkcd):\w+|\bcolou?rs?\s*=\s*["'][#\w]"""
DRAWINGS = ("notebooks/source/*.py", "helpers/draw/*.py", "helpers/cluster/*.py")
TEXTS = ("py", "css", "js", "mjs", "html", "md")


def test_no_file_writes_a_color_of_the_palette_and_no_drawing_any_other():
    palette = ROOT / "helpers/draw/style.py"
    hexes = {color[1:] for color in style.PALETTE.values()} - {"FFFFFF", "000000"}
    numbers = {", ".join(str(int(h[i : i + 2], 16)) for i in (0, 2, 4)) for h in hexes}
    both = [*(f"#{h}" for h in hexes), *(rf"rgba?\({n}" for n in numbers)]
    ours = re.compile("|".join(both), re.I)
    assert len(ours.findall(palette.read_text("utf-8"))) > 15 and re.search(
        HUE, "plot(color='red')"
    )
    tops = [top for top in ROOT.glob("[!.]*/") if top.name not in ("tests", "build")]
    paths = {path for top in tops for end in TEXTS for path in top.rglob(f"*.{end}")} - {palette}
    drawings = {path for each in DRAWINGS for path in ROOT.glob(each)} - {palette}
    assert len(drawings) > 35 and drawings < paths
    found = {str(p): ours.findall(p.read_text("utf-8")) for p in paths}
    for path in drawings:
        code = re.sub(r"^#.*", "", path.read_text("utf-8"), flags=re.M)
        found[str(path)] += re.findall(HUE, code)
    found = {path: colors for path, colors in found.items() if colors}
    assert not found, f"take a name of helpers.draw.style, or write var(--palette-…): {found}"
