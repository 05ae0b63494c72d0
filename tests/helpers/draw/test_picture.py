"""Pictures in files and notebooks, in both themes and in words; letters and colors to be read."""

import base64
import io
import re
import zlib
from html import unescape
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from PIL import Image

from helpers.clone import ROOT
from helpers.draw import curves, lanes, style
from helpers.draw.picture import box, canvas, write
from helpers.draw.style import BLUE, DARK, HATCHED, INK, LIGHT, VERMILLION, look, painted
from helpers.draw.themed import PICTURE
from helpers.trace import KINDS
from tests.said import said
from tests.traces import pipeline

SVG = "{http://www.w3.org/2000/svg}"
ALT = 'Alt with "quotes" & <signs>, 50 %'


def picture():
    ax = canvas(60)
    ax.alt = ALT
    box(ax, 10, 10, 20, 20, BLUE)
    box(ax, 40, 10, 40, 20, HATCHED)
    write(ax, 50, 40, "5 < 6 & 2.428 #D9DDE2", 10, at="center")
    return ax


DRAWN = {"boxes": picture, "lanes": lambda: lanes(pipeline()), "curves": lambda: curves({"a": [3]})}


@pytest.mark.parametrize("name", DRAWN)
def test_an_svg_refers_to_nothing_outside_and_says_both_colors_after_one_for_old_viewers(name):
    text = DRAWN[name]().svg()
    assert text == DRAWN[name]().svg()
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and root.get("width") == "900"
    assert root.find(f"{SVG}title").text
    if name == "boxes":
        assert root.get("height") == "88" and root.find(f"{SVG}title").text == ALT
        assert [t.text.strip() for t in root.iter(f"{SVG}text")] == ["5 < 6 & 2.428 #D9DDE2"]
    assert f"fill: light-dark({INK.lower()}" in root.get("style"), "of what a student adds in black"
    addresses = set(re.findall(r"https?://[^\s\"']+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    used = set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= set(re.findall(r'id="([^"]+)"', text))
    found = "; ".join(value for node in root.iter() for key, value in node.items() if key != "id")
    assert f"light-dark({LIGHT['background'].lower()}" in found
    for light, dark in zip(LIGHT.values(), DARK.values(), strict=True):
        both = rf": light-dark\({light}, {dark}\)"
        twice = re.sub(rf"(fill|stroke): {light}; \1{both}", "", found, flags=re.I)
        assert light.lower() not in twice.lower()


def test_a_notebook_gets_an_image_that_follows_the_theme_and_a_built_lesson_a_png(monkeypatch):
    shown = picture()._repr_mimebundle_()
    html = shown["text/html"]
    assert unescape(re.search('alt="([^"]*)"', html)[1]) == ALT == shown["text/plain"]
    assert 'width="900"' in html and html.count('"') == 8 and "\n" not in html
    source = unquote(re.search(r'src="data:image/svg\+xml,([^"]*)"', html)[1])
    assert ElementTree.fromstring(source).get("width") == "900"
    assert "color-scheme: light dark" in source and "light-dark(" in source
    monkeypatch.setenv("LAB_STATIC", "1")
    data, facts = picture()._repr_mimebundle_()
    assert "text/html" not in data, "GitHub shows no picture inside of HTML"
    assert facts == {"image/png": {"alt": ALT, "width": 900}}
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.size == (1350, 132) and len(image.getcolors()) <= 32
    assert image.convert("RGB").getpixel((51, 51)) == pytest.approx((0, 0x72, 0xB2), abs=8)
    assert zlib.decompress(base64.b64decode(data[PICTURE]["svg"])).decode() == picture().svg()


def test_files(tmp_path):
    assert picture().save(tmp_path / "p.svg").read_text("utf-8") == picture().svg()
    assert picture().save(tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    wrong = said(picture().save, tmp_path / "p.pdf")
    assert wrong.endswith("p.pdf: the name must end in .svg or .png")


# --- one palette ----------------------------------------------------------------------------------


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
    assert len(ours.findall(palette.read_text("utf-8"))) > 15
    assert re.search(HUE, "plot(color='red')")
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
