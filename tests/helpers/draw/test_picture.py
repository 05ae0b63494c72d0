"""Picture: files, notebooks, both themes, text for readers who do not see."""

import base64
import io
import re
import zlib
from html import unescape
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from PIL import Image

from helpers.draw import curves, lanes
from helpers.draw.picture import box, canvas, write
from helpers.draw.style import BLUE, DARK, HATCHED, INK, LIGHT
from helpers.draw.themed import PICTURE
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
    with pytest.raises(ValueError, match=r"p\.pdf: the name must end in \.svg or \.png"):
        picture().save(tmp_path / "p.pdf")
