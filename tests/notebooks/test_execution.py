"""Every lesson executed from the top, one after the other: it still shows what is committed."""

from pathlib import Path

import nbformat
import pytest

from lessons.book import LessonFailed, books
from lessons.build import build
from lessons.compare import differences

TRIES = 3  # of a lesson in which a claim fails: it may be one about seconds, on a busy machine
BOOKS = books(Path(__file__).resolve().parents[2])


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("lesson", BOOKS, ids=[lesson.name for lesson in BOOKS])
def test_the_lesson_shows_what_is_committed(lesson):
    for left in reversed(range(TRIES)):
        try:
            now = build(lesson)  # raises LessonFailed with the cell, its line and the reason
            break
        except LessonFailed as error:
            if not left or "`claim" not in str(error):
                raise
    found = differences(nbformat.read(lesson.notebook, as_version=4), now)
    assert not found, "\n".join(found)
