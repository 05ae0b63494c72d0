"""Every lesson executed from the top: it still shows what is committed.

Two at a time: most of a lesson is waiting, and seconds are judged on paced ranks.
A lesson in which a claim fails runs again, alone on the machine.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from lessons.book import LessonFailed, books
from lessons.build import build
from lessons.compare import differences

pytestmark = pytest.mark.slow

TRIES = 3
ROOT = Path(__file__).resolve().parents[2]
BOOKS = books(ROOT)[::-1]  # late lessons are the longest: none begins when all others have ended


@contextlib.contextmanager
def place(alone: bool) -> Iterator[None]:
    """Wait until this lesson may run: beside another one, or with no other."""
    if os.name != "posix":  # where one worker runs them all
        yield
        return
    import fcntl

    folder = ROOT / "build" / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lessons.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("lesson", BOOKS, ids=[lesson.name for lesson in BOOKS])
def test_the_lesson_shows_what_is_committed(lesson):
    for tried in range(TRIES):
        try:
            with place(alone=tried > 0):
                now = build(lesson)  # raises LessonFailed with the cell, its line and the reason
            break
        except LessonFailed as error:
            if tried == TRIES - 1 or "claims what was not measured" not in str(error):
                raise
    found = differences(nbformat.read(lesson.notebook, as_version=4), now)
    assert not found, "\n".join(found)
