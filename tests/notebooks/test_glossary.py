"""The glossary: each term once, in order, with a sentence and a lesson that uses the term."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"\| \*\*(.+?)\*\* \| (\S.*\S) \| \[(\d\d)\]\(\.\./(notebooks/(\S+)\.ipynb)\) \|")


def test_each_term_is_there_once_in_order_and_in_the_lesson_that_its_row_names():
    lines = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()[6:]
    rows = [ROW.fullmatch(line).groups() for line in lines]
    terms = [term.lower() for term, *_ in rows]
    assert terms == sorted(set(terms))
    for term, (_, _, number, _, name) in zip(terms, rows, strict=True):
        source = (ROOT / f"notebooks/source/{name}.py").read_text(encoding="utf-8")
        words = " ".join(source.replace("\n#", "\n").split()).lower()
        assert name.startswith(number)
        for word in re.sub(r" \(.*", "", term).split(", "):
            assert word in words, (term, name)
