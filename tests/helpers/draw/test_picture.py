"""Picture: files, notebooks, text for readers who do not see."""

import base64
import io
import re
from xml.etree import ElementTree

import pytest
from PIL import Image

from helpers.draw import Canvas, Picture, timeline
from helpers.trace.examples import pipeline

SVG = "{http://www.w3.org/2000/svg}"


def picture(theme="light") -> Picture:
    canvas = Canvas(100, 60, theme)
    canvas.rect(10, 10, 20, 20, "#0072B2", tip="a <box> & more")
    canvas.rect(40, 10, 40, 20, "#FFFFFF", hatch="#FF0000")
    canvas.line([(0, 50), (100, 50)], "#00AA00", 2, (4, 2))
    canvas.arrow((5, 35), (95, 45), "#000000")
    canvas.text(50, 40, "5 < 6 & $x$", 10, anchor="middle")
    return Picture(canvas, 'Title with "quotes" & <signs>', 'Alt with "quotes" & <signs>')


def test_svg_is_xml_that_speaks_for_itself():
    root = ElementTree.fromstring(picture().svg())
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'Alt with "quotes" & <signs>'
    assert root.find(f"{SVG}title").text == 'Title with "quotes" & <signs>'
    assert root.find(f"{SVG}desc").text == 'Alt with "quotes" & <signs>'
    assert root.get("viewBox") == "0 0 100 60"
    assert [t.text for t in root.iter(f"{SVG}text")] == ["5 < 6 & $x$"]
    assert root.findall(f"{SVG}rect/{SVG}title")[0].text == "a <box> & more"


def test_svg_refers_to_nothing_outside_and_to_no_day():
    text = timeline(pipeline()).svg()
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"20\d\d-\d\d", text)
    used = set(re.findall(r"url\(#([^)]+)\)", text))
    assert used and used == set(re.findall(r'id="([^"]+)"', text))


def test_control_characters_do_not_break_the_file():
    canvas = Canvas(50, 50)
    canvas.text(1, 1, "a\x00b")
    ElementTree.fromstring(Picture(canvas, "\x07", "\x1b[0m").svg())


def test_a_png_has_its_words_and_shows_what_the_shapes_say():
    image = Image.open(io.BytesIO(picture().png(scale=2)))
    assert image.text == {
        "Title": 'Title with "quotes" & <signs>',
        "Description": 'Alt with "quotes" & <signs>',
    }
    assert image.size == (200, 120)
    image = image.convert("RGB")
    assert image.getpixel((40, 40)) == (0, 0x72, 0xB2)
    assert image.getpixel((2, 2)) == (255, 255, 255)
    hatched = [image.getpixel((x, 40)) for x in range(84, 156)]
    assert any(r > 200 and g < 150 for r, g, _ in hatched), "there are red lines"
    assert sum(pixel == (255, 255, 255) for pixel in hatched) > 20, "with white between them"
    dashes = [image.getpixel((x, 100)) for x in range(0, 200)]
    assert (0, 0xAA, 0) in dashes and (255, 255, 255) in dashes
    dark = Image.open(io.BytesIO(picture("dark").png(1))).convert("RGB")
    assert dark.size == (100, 60) and dark.getpixel((2, 2)) == (0x15, 0x18, 0x1D)


def test_notebooks_get_an_image_with_its_alternative_text():
    shown = picture()._repr_mimebundle_()
    html = shown["text/html"]
    assert 'alt="Alt with &quot;quotes&quot; &amp; &lt;signs&gt;"' in html and 'width="100"' in html
    data = re.search(r"base64,([A-Za-z0-9+/=]+)", html)[1]
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (200, 120)
    assert shown["text/plain"] == '<Picture: Alt with "quotes" & <signs>>'
    assert picture()._repr_png_().startswith(b"\x89PNG")


def test_another_ending(tmp_path):
    with pytest.raises(ValueError) as caught:
        picture().save(tmp_path / "p.pdf")
    assert str(caught.value) == (
        f"cannot save a picture as {tmp_path / 'p.pdf'}: the name must end in .svg or .png"
    )
