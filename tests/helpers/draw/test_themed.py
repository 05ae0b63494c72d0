"""One picture for a light page and a dark one; a browser's view of it is in tests/browser."""

import re
from html import unescape
from xml.etree import ElementTree

import pytest

from helpers.draw import curves, timeline
from helpers.draw.style import DARK, LIGHT
from helpers.draw.themed import STYLE, live_html, themed_svg
from helpers.schedules import gpipe
from helpers.simulate import Costs, simulate


@pytest.mark.parametrize(
    "picture", [timeline(simulate(gpipe(3, 4), Costs()).trace), curves({"a": [3, 2], "b": [2, 1]})]
)
def test_both_themes_are_in_one_svg(picture):
    root = ElementTree.fromstring(themed_svg(picture))
    colors = {value for node in root.iter() for name, value in node.items() if name == "fill"}
    assert f"light-dark({LIGHT.background}, {DARK.background})" in colors
    assert f"light-dark({LIGHT.text}, {DARK.text})" in colors
    plain = {color for color in colors if color.startswith("#")}
    assert not plain & {LIGHT.text, LIGHT.muted, LIGHT.band, LIGHT.grid, LIGHT.wait}
    assert root.get("role") == "img" and root.get("aria-label") == picture.alt
    tags = [node.tag.rpartition("}")[2] for node in root]
    assert "title" not in tags, "it would pop up wherever the pointer rests"
    asked = {
        ref for node in root.iter() for ref in re.findall(r"url\(#(.+)\)", node.get("fill", ""))
    }
    assert asked <= {node.get("id") for node in root.iter()}


def test_what_a_page_that_trusts_nothing_leaves_is_a_picture_with_its_words():
    """JupyterLab takes <style> and <svg> out of a notebook that comes from elsewhere."""
    picture = curves({"a": [3, 2]})
    html = live_html(picture)
    assert STYLE in html and "<svg" in html
    left = re.sub(r"<(style|svg).*?</\1>", "", html, flags=re.S)
    alt = re.search(r'<img alt="([^"]*)"', left)
    assert unescape(alt[1]) == picture.alt and "data:image/png;base64," in left


def test_a_lesson_that_is_built_shows_images(monkeypatch):
    """JupyterLab would hide an SVG in a notebook that nobody has run yet."""
    monkeypatch.setenv("LAB_STATIC", "1")
    picture = curves({"a": [3, 2]})
    data, facts = picture._repr_mimebundle_()
    assert picture._repr_html_() is None and data["image/png"] in picture.image()
    assert facts["image/png"]["alt"] == picture.alt
