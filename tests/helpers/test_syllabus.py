"""The one table of the lessons: its numbers, and what follows it."""

import re
from pathlib import Path

import pytest

from helpers.syllabus import LESSONS, by_name

ROOT = Path(__file__).resolve().parents[2]


def test_files_and_titles_are_those_of_the_table_and_a_lesson_comes_after_what_it_needs():
    sources = sorted((ROOT / "notebooks/source").glob("*.py"))
    titles = [re.search(r"^# # (.+)$", path.read_text("utf-8"), re.M)[1] for path in sources]
    assert [(path.stem, title) for path, title in zip(sources, titles, strict=True)] == [
        (lesson.stem, lesson.title) for lesson in LESSONS
    ]
    names = [lesson.name for lesson in LESSONS]
    for place, lesson in enumerate(LESSONS):
        assert lesson.number == f"{place:02}" == by_name(lesson.name).number
        assert {*lesson.needs} <= {*names[:place]}, lesson.name
    with pytest.raises(KeyError, match="no lesson is named 'ddp'"):
        by_name("ddp")


def test_a_lesson_that_is_linked_has_the_number_that_the_text_says():
    link = re.compile(r"\[(?:[Ll]essons? )?(\d\d)\]\([./]*(?:notebooks/)?(\d\d)_\w+\.")
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/source/*.py")]
    found = [(path, *pair) for path in texts for pair in link.findall(path.read_text("utf-8"))]
    assert len(found) > 70 and [each for each in found if each[1] != each[2]] == []
