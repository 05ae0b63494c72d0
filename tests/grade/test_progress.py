import json

import pytest

from helpers.grade import notebook, progress, record
from helpers.grade.labs import all_tasks
from helpers.grade.verdict import Verdict


@pytest.fixture
def path(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "progress.json"
    monkeypatch.setenv("LAB_PROGRESS", str(path))
    return path


def test_what_has_passed_stays_passed(path, task):
    for kind in ("mistake", "pass", "crash"):
        record.remember(Verdict(task, kind))
    facts = record.read_record(path)["T-1"]
    assert facts["tries"] == 3 and len(facts["passed"]) == len("2026-01-31")


def test_a_stub_is_no_try_and_building_lessons_is_nobodys_progress(path, task, monkeypatch):
    record.remember(Verdict(task, "not done"))
    monkeypatch.setenv("LAB_STATIC", "1")
    record.remember(Verdict(task, "pass"))
    assert not path.exists()


def test_a_solution_that_came_with_the_edition_is_nobodys_work(path, small, task, capsys):
    record.remember(Verdict(task, "pass"), root=small.root)
    assert not path.exists()
    text = small.work.read_text().replace("SOLUTION T-1", "SOLUTION T-12")
    small.work.write_text(text)  # another task's marks
    record.remember(Verdict(task, "pass"), root=small.root)
    assert record.read_record(path)["T-1"]["passed"]
    assert progress.main([]) == 0  # this repository is the edition with solutions
    assert "This folder holds the solutions" in capsys.readouterr().out


def test_a_check_in_a_cell_is_remembered(path, task, monkeypatch):
    monkeypatch.setattr(notebook, "grade", lambda *given: Verdict(task, "pass"))
    notebook.check("T-1")
    assert record.read_record(path)["T-1"]["passed"]


@pytest.mark.parametrize("text", ["", "[]", '{"tasks": 3}', '{"tasks": {"T-1": 3}}'])
def test_a_record_that_is_broken_starts_anew(path, task, text):
    path.parent.mkdir()
    path.write_text(text)
    record.remember(Verdict(task, "pass"))
    assert record.read_record(path)["T-1"]["tries"] == 1


def test_what_cannot_be_written_breaks_no_check(path, task):
    path.parent.write_text("a file where a folder should be")
    record.remember(Verdict(task, "pass"))


def test_the_record_is_the_users_own_and_not_in_this_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_PROGRESS", "off")
    assert record.progress_file() is None
    monkeypatch.delenv("LAB_PROGRESS")
    for name in ("XDG_DATA_HOME", "HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    found = record.progress_file()
    assert found.is_relative_to(tmp_path) and found.name == "progress.json"


def test_the_way(path, capsys):
    first, second, *rest = all_tasks()
    text = progress.overview(all_tasks(), {first.id: {"tries": 2, "passed": "2026-01-31"}})
    assert f"[x] {first.id:8} {first.points:2d} points" in text
    assert "(done on 2026-01-31, 2 tries)" in text
    assert f"next: lesson {second.notebook}, task {second.id}" in text
    done = {task.id: {"tries": 1, "passed": "2026-01-31"} for task in all_tasks()}
    assert "everything is done" in progress.overview(all_tasks(), done)
    assert progress.main([]) == 0
    assert f"kept in {path}" in capsys.readouterr().out
    assert progress.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {}


def test_every_task_belongs_to_a_lesson_that_exists():
    lessons = {lesson.number for lesson in progress.LESSONS}
    text = progress.overview(all_tasks(), {})
    for task in all_tasks():
        assert task.notebook in lessons, f"{task.id} belongs to lesson {task.notebook}, not listed"
        assert f"[ ] {task.id} " in text
