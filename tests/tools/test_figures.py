"""imgs/ holds what the code draws today, and each picture can be read without eyes."""

import re
from xml.etree import ElementTree

import pytest

import figures


@pytest.mark.parametrize("path", sorted(figures.IMGS.glob("*.svg")), ids=lambda path: path.stem)
def test_a_figure_can_be_read_without_eyes_on_both_themes_and_says_what_is_so_today(path):
    text = path.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert 'role="img"' in text and len(re.findall("<title>(.*?)</title>", text, re.DOTALL)[0]) > 60
    assert "color-scheme: light dark" in text and "light-dark(#fff" in text.lower()
    drawn, by_hand = (figures.IMGS / "README.md").read_text(encoding="utf-8").split("## Drawn by")
    if path.stem in figures.FIGURES:
        assert f"({path.name})" in drawn
        assert figures.fresh(path.stem), f"{path.name} is stale: make figures"
    else:
        assert re.search(rf"\b{path.stem}\b", by_hand)
