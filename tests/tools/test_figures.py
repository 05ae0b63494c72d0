"""imgs/ holds what the code draws today, and what is drawn by hand, each with its words."""

import re
from xml.etree import ElementTree

import pytest

import figures


@pytest.mark.parametrize("path", sorted(figures.IMGS.glob("*.svg")), ids=lambda path: path.stem)
def test_a_figure_can_be_read_without_eyes_and_on_light_and_dark_pages(path):
    text = path.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert 'role="img"' in text and len(re.findall("<title>(.*?)</title>", text, re.DOTALL)[0]) > 60
    assert "color-scheme: light dark" in text and "light-dark(#fff" in text.lower()


@pytest.mark.parametrize("name", figures.FIGURES)
def test_a_figure_says_what_the_code_draws(name):
    assert figures.fresh(name), f"imgs/{name}.svg is stale: make figures"


def test_there_is_no_other_figure():
    readme = (figures.IMGS / "README.md").read_text(encoding="utf-8")
    drawn, by_hand = readme.split("## Drawn by hand")
    files = {path.stem for path in figures.IMGS.glob("*.svg")}
    assert files - {*figures.FIGURES} == {name for name in files if f"{name}" in by_hand}
    assert all(f"({name}.svg)" in drawn for name in figures.FIGURES)


def test_what_is_stale_is_drawn(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(figures, "IMGS", tmp_path)
    monkeypatch.setattr(figures, "FIGURES", {"gpipe": figures.FIGURES["gpipe"]})
    assert figures.main([]) == 0 and "imgs/gpipe.svg drawn" in capsys.readouterr().out
    assert figures.main([]) == 0 and not capsys.readouterr().out
    assert figures.fresh("gpipe")
