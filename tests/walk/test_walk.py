"""The student's walk: lessons of the student edition, in reading order, to their end.

Once with nothing solved, once with everything skipped, once with each solution written just before
its check. `walker` runs the cells, with few steps. `make test-long` walks all lessons in all ways;
`make test-all` walks some: four unsolved, two solved, one skipped.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helpers.grade.folder import write_folder
from helpers.grade.student import student_edition
from helpers.grade.task import load_task
from helpers.syllabus import LESSONS as SYLLABUS

pytestmark = [pytest.mark.slow, pytest.mark.patient]

RICH = ("data_parallel_gradients", "fewer_bits")
MORE = ("welcome", "training_puzzles", *RICH)
ALL = bool(os.environ.get("LAB_REPEAT"))
LESSONS = [lesson.stem for lesson in SYLLABUS if ALL or lesson.stem[3:] in MORE]
each_lesson = pytest.mark.parametrize("lesson", LESSONS)
SOME = [name for name in LESSONS if ALL or name[3:] in RICH]
some_lessons = pytest.mark.parametrize("lesson", SOME)
one_lesson = pytest.mark.parametrize("lesson", SOME if ALL else SOME[-1:])
SECONDS = 1200
WAYS = {  # the longest first
    "unsolved": "test_with_nothing_solved_each_lesson_ends_and_names_what_is_undone",
    "solved": "test_with_each_task_solved_before_its_check_all_pass",
    "skipped": "test_with_everything_skipped_nothing_is_missing_and_nothing_earned",
}


@pytest.fixture(scope="module")
def walked(request, tmp_path_factory):
    """What a walk found, {lesson: what `walker` says of it}; each way is walked once.

    Two walk at a time: most of a walk is waiting. Only lessons that are asked for are walked.
    """
    files = student_edition().files

    places = {way: tmp_path_factory.mktemp(way) for way in WAYS}

    def walk(way: str, lessons: list[str]) -> dict[str, dict]:
        place = places[way]
        write_folder(place / "edition", files)
        environment = os.environ | {
            "PYTHONPATH": str(place / "edition"),
            "LAB_QUICK": "1",
            "LAB_PROGRESS": str(place / "progress.json"),
            "OMP_NUM_THREADS": "1",
        }
        walker = Path(__file__).with_name("walker.py")
        done = subprocess.run(
            [sys.executable, str(walker), str(place / "edition"), way, *lessons],
            env=environment,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=SECONDS,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return {found["lesson"]: found for found in lines}

    asked: dict[str, list[str]] = {}  # {test: the chosen lessons}
    for item in request.session.items:
        if item.path == Path(__file__) and "walked" in item.fixturenames:
            asked.setdefault(item.originalname, []).append(item.callspec.params["lesson"])
    with ThreadPoolExecutor(2) as pool:
        jobs = {
            way: pool.submit(walk, way, of_way(way, asked[test]))
            for way, test in WAYS.items()
            if test in asked
        }
        yield lambda way: jobs[way].result()


def of_way(way: str, chosen: list[str]) -> list[str]:
    """The lessons to walk for those that are chosen: solved work stands on that of earlier ones."""
    return [name for name in SOME if name <= max(chosen)] if way == "solved" else chosen


def found(walked, way: str, lesson: str) -> tuple[dict, str]:
    """What a walk found in a lesson, and all its output; it went to the end without an error."""
    assert lesson in walked(way), "the walk ended before this lesson"
    said = walked(way)[lesson]
    assert said["faults"] == []
    return said, "\n".join(cell["text"] for cell in said["cells"])


@pytest.mark.stress
@pytest.mark.timeout(SECONDS)
@each_lesson
def test_with_nothing_solved_each_lesson_ends_and_names_what_is_undone(walked, lesson):
    said, text = found(walked, "unsolved", lesson)
    assert "  PASS  " not in text
    for task in said["tasks"]:
        assert f"Task {task}: " in text or f"needs task {task} of" in text
        assert f"{task}  TO DO  " in text
    for cell in said["cells"]:
        assert cell["text"].count("This cell needs task ") <= 1


@pytest.mark.stress
@pytest.mark.timeout(SECONDS)
@one_lesson
def test_with_everything_skipped_nothing_is_missing_and_nothing_earned(walked, lesson):
    _, text = found(walked, "skipped", lesson)
    assert "This cell needs" not in text and "  PASS  " not in text


@pytest.mark.stress
@pytest.mark.timeout(SECONDS)
@some_lessons
def test_with_each_task_solved_before_its_check_all_pass(walked, lesson):
    said, text = found(walked, "solved", lesson)
    for task in said["tasks"]:
        assert f"{task}  PASS  {load_task(task).task.title}" in text
    assert "This cell needs" not in text
