"""The page of tasks, the lessons and the tasks' own facts say the same."""

import re

import pytest

from helpers.grade import page
from helpers.grade.labs import all_tasks
from helpers.grade.task import ROOT, load_task, task_ids

TASKS = all_tasks()
LISTED = {lesson.number for lesson in page.LESSONS}


def test_the_pages_are_what_the_tasks_say(capsys):
    assert page.main(["--check"]) == 0, capsys.readouterr().err


def test_a_stale_page_is_found_and_written(tmp_path, capsys):
    (tmp_path / "TEACHING.md").write_text(f"before\n{page.BEGIN}old\n{page.END}after\n")
    assert page.main(["--check"], tmp_path) == 1
    assert "docs/tasks.md is not what the tasks say: make tasks" in capsys.readouterr().err
    assert page.main([], tmp_path) == 0
    assert page.main(["--check"], tmp_path) == 0
    assert (tmp_path / "TEACHING.md").read_text().startswith("before\n")
    assert "old" not in (tmp_path / "TEACHING.md").read_text()
    with pytest.raises(ValueError, match="TEACHING.md: the lines .* are missing"):
        page.teaching("no marks")


def test_every_task_of_a_listed_lesson_stands_on_the_page_once():
    text = page.page()
    for task in TASKS:
        count = 1 if task.notebook in LISTED else 0
        assert text.count(f"| **{task.id}** |") == count
        assert text.count(f"Hints for {task.id}<") == count


def test_labs_of_other_courses_name_tasks_that_exist():
    named = {task_id for _, problems in page.PROBLEMS for _, ids in problems for task_id in ids}
    lessons = {f"lesson {path.name[:2]}" for path in (ROOT / "notebooks" / "source").glob("*.py")}
    assert named <= {*task_ids(), *lessons}


@pytest.mark.parametrize("task_id", [t.id for t in TASKS if t.notebook in LISTED])
def test_its_lesson_asks_for_the_task(task_id):
    """In a text that names the id and the file, and in a cell that checks it; no other does."""
    task = load_task(task_id).task
    sources = {
        path.name[:2]: path.read_text(encoding="utf-8")
        for path in (ROOT / "notebooks" / "source").glob("[0-9][0-9]_*.py")
    }
    checks = [number for number, text in sources.items() if f'\ncheck("{task_id}")' in text]
    assert checks == [task.notebook]
    text = re.sub(r"\s*\n# ?", " ", sources[task.notebook])
    lab = task_id.rstrip("0123456789")
    assert re.search(rf"\b{task_id}\b|{lab}\d to {lab}\d", text)
    file = re.escape(re.sub(r"\d", "#", task.file)).replace("\\#", r"\d")  # part0.py to part4.py
    assert re.search(file, text) or "same file" in text or f"{task.file.split('/')[-1]}`" in text
