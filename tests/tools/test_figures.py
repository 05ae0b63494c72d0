"""imgs/ holds what the code draws today, each with its alternative text, and nothing else."""

import re

import pytest

import figures


@pytest.mark.parametrize("name", figures.FIGURES)
def test_a_figure_is_what_the_code_draws_and_can_be_read_without_eyes(name):
    assert figures.fresh(name), f"imgs/{name}.svg is stale: make figures"
    text = (figures.IMGS / f"{name}.svg").read_text(encoding="utf-8")
    assert 'role="img"' in text and "<title>" in text
    (description,) = re.findall("<desc>(.*?)</desc>", text, re.DOTALL)
    assert len(description) > 60


def test_there_is_no_other_figure():
    files = {path.name for path in figures.IMGS.iterdir()}
    assert files == {f"{name}.svg" for name in figures.FIGURES} | {
        "README.md",
        figures.MEASURED.name,
    }
    readme = (figures.IMGS / "README.md").read_text(encoding="utf-8")
    assert all(f"({name}.svg)" in readme for name in figures.FIGURES)


def test_what_is_stale_is_drawn(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(figures, "IMGS", tmp_path)
    monkeypatch.setattr(figures, "FIGURES", {"gpipe": figures.FIGURES["gpipe"]})
    assert figures.main([]) == 0 and "imgs/gpipe.svg drawn" in capsys.readouterr().out
    assert figures.main([]) == 0 and not capsys.readouterr().out
    assert figures.fresh("gpipe")
