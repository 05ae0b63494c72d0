"""The one table of the lessons: its numbers, and what follows it."""

import re
from pathlib import Path

import pytest

from helpers.syllabus import LESSONS, by_name

ROOT = Path(__file__).resolve().parents[2]


def test_the_files_are_those_of_the_table_and_a_lesson_comes_after_what_it_needs():
    stems = [lesson.stem for lesson in LESSONS]
    assert [path.stem for path in sorted((ROOT / "notebooks/source").glob("*.py"))] == stems
    names = [lesson.name for lesson in LESSONS]
    for place, lesson in enumerate(LESSONS):
        assert lesson.number == f"{place:02}" == by_name(lesson.name).number
        assert {*lesson.needs} <= {*names[:place]}, lesson.name
    with pytest.raises(KeyError, match="no lesson is named 'ddp'"):
        by_name("ddp")


def test_a_lesson_that_is_linked_has_the_number_that_the_text_says():
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/source/*.py")]
    found = [
        (path.name, number, stem)
        for path in texts
        for number, stem in re.findall(
            r"\[(?:[Ll]essons? )?(\d\d)\]\([./]*(?:notebooks/)?(\d\d_\w+)\.",
            path.read_text("utf-8"),
        )
    ]
    assert len(found) > 70
    assert [each for each in found if not each[2].startswith(each[1])] == []
