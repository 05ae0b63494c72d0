"""The student's walk: lessons in a student's copy, in reading order, to their end.

Once with nothing solved, once with each task solved just before its check, with few steps.
`make test-long` walks all lessons both ways; `make test-all` walks four unsolved and two solved.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.check.student import write
from helpers.check.task import ROOT, load_task
from helpers.syllabus import LESSONS as SYLLABUS

pytestmark = [pytest.mark.slow, pytest.mark.patient]

RICH = ("data_parallel_gradients", "fewer_bits")
MORE = ("welcome", "training_puzzles", *RICH)
ALL = bool(os.environ.get("LAB_REPEAT"))
LESSONS = [lesson.stem for lesson in SYLLABUS if ALL or lesson.stem[3:] in MORE]
SOME = [name for name in LESSONS if ALL or name[3:] in RICH]
SECONDS = 1200


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """Return a function that walks: {lesson: what `walker` says of it}."""

    def walk(way: str, *lessons: str) -> dict[str, dict]:
        place = tmp_path_factory.mktemp(way)
        write(place / "my-lab")
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(place / "my-lab"), str(ROOT / "tools")]),
            "LAB_QUICK": "1",
            "LAB_PROGRESS": str(place / "progress.json"),
            "OMP_NUM_THREADS": "1",
        }
        walker = Path(__file__).with_name("walker.py")
        done = subprocess.run(
            [sys.executable, walker, place / "my-lab", ROOT / "notebooks/source", way, *lessons],
            env=environment,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=SECONDS,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return {found["lesson"]: found for found in lines}

    return walk


def text_of(said: dict) -> str:
    """All output of a lesson, which went to its end without an error."""
    assert said["faults"] == []
    return "\n".join(cell["text"] for cell in said["cells"])


@pytest.mark.stress
@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("lesson", LESSONS)
def test_with_nothing_solved_a_lesson_ends_and_names_what_is_undone(walked, lesson):
    said = walked("unsolved", lesson)[lesson]
    text = text_of(said)
    assert "  PASS  " not in text
    for task in said["tasks"]:
        assert f"{task}  TO DO  " in text
    for cell in said["cells"]:
        assert cell["text"].count("This cell needs task ") <= 1


@pytest.mark.stress
@pytest.mark.timeout(SECONDS * len(SOME))
def test_with_each_task_solved_before_its_check_all_pass(walked):
    """In one copy: what is solved in a lesson, later ones build on."""
    for lesson, said in walked("solved", *SOME).items():
        text = text_of(said)
        for task in said["tasks"]:
            assert f"{task}  PASS  {load_task(task).title}" in text, lesson
        assert "This cell needs" not in text, lesson
