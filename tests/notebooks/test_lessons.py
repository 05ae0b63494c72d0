"""Every lesson of the project: its rules, and its committed notebook, which fits its source."""

import re
from pathlib import Path

import nbformat
import pytest

from lessons.book import books, read_source, texts
from lessons.rules import output_faults, source_faults

ROOT = Path(__file__).resolve().parents[2]
BOOKS = books(ROOT)
each_lesson = pytest.mark.parametrize("lesson", BOOKS, ids=[lesson.name for lesson in BOOKS])


def test_each_notebook_has_a_source():
    assert BOOKS
    assert [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))] == [
        lesson.name for lesson in BOOKS
    ]


def test_the_way_through_the_lessons_in_00_names_each_of_them_in_order():
    text = BOOKS[0].source.read_text(encoding="utf-8")
    listed = re.findall(r"^# \| (\d\d) \| \[.+?\]\((\w+)\.ipynb\)", text, re.MULTILINE)
    assert listed == [(lesson.name[:2], lesson.name) for lesson in BOOKS]


@each_lesson
def test_the_source_follows_the_rules(lesson):
    assert source_faults(read_source(lesson.source)) == []


@each_lesson
def test_the_committed_notebook_is_the_source(lesson):
    notebook = nbformat.read(lesson.notebook, as_version=4)
    assert texts(notebook) == texts(read_source(lesson.source))
    assert output_faults(notebook) == []
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
