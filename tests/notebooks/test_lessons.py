"""Every lesson of the project: its rules, and its committed notebook, which fits its source."""

import os
import re
from pathlib import Path

import nbformat
import pytest

from lessons.book import books, read_source, texts
from lessons.build import build, stale
from lessons.rules import output_faults, source_faults

ROOT = Path(__file__).resolve().parents[2]
BOOKS = books(ROOT)
each_lesson = pytest.mark.parametrize("lesson", BOOKS, ids=[lesson.name for lesson in BOOKS])
# At full length here; tests/walk runs each lesson with few steps, and `make stress` all in full.
FULL = ("00", "05")
IN_FULL = [book for book in BOOKS if book.number in FULL or os.environ.get("LAB_REPEAT")]


def test_every_committed_notebook_is_up_to_date_and_none_is_without_a_source():
    assert BOOKS
    assert stale(ROOT, []) == []


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


@pytest.mark.stress
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("lesson", IN_FULL, ids=[lesson.name for lesson in IN_FULL])
def test_the_lesson_runs_from_the_top(lesson):
    build(lesson)  # raises LessonFailed with the cell, its line and the reason; writes nothing
