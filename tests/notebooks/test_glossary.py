"""The glossary: each term once, in order, with a sentence and a lesson that uses the term."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"\| \*\*(.+?)\*\* \| (\S.*\S) \| \[(\d\d)\]\(\.\./(notebooks/(\S+)\.ipynb)\) \|")
LINES = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()[6:]


@pytest.mark.parametrize("line", LINES)
def test_each_row_names_a_lesson_that_uses_its_term(line):
    term, _, number, notebook, name = ROW.fullmatch(line).groups()
    source = (ROOT / f"notebooks/source/{name}.py").read_text(encoding="utf-8")
    words = " ".join(source.replace("\n#", "\n").split()).lower()
    assert name.startswith(number) and (ROOT / notebook).suffix == ".ipynb"
    for word in re.sub(r" \(.*", "", term).lower().split(", "):
        assert word in words


def test_each_term_is_there_once_and_in_order():
    terms = [ROW.fullmatch(line)[1].lower() for line in LINES]
    assert terms == sorted(set(terms))
