import json
import re

import pytest

from helpers.grade import __main__ as program
from helpers.grade import held
from helpers.grade.labs import all_tasks
from helpers.grade.limits import Held, Limits
from helpers.grade.task import load_task
from helpers.grade.verdict import Verdict


@pytest.fixture
def graded(monkeypatch):
    """Notes what would be graded, and lets it pass or fail."""
    asked = []

    def grade(task_id, root, seconds, seed=None, gigabytes=None):
        asked.append((task_id, root, seconds))
        kind = "crash" if (root / "fails").exists() else "pass"
        return Verdict(load_task(task_id).task, kind, "it fell" if kind == "crash" else "")

    monkeypatch.setattr(program, "grade", grade)
    return asked


def test_all_tasks_of_a_folder(graded, tmp_path, capsys):
    assert program.main(["--root", str(tmp_path), "--seconds", "5"]) == 0
    assert graded == [(task.id, tmp_path, 5) for task in all_tasks()]
    assert re.search(r"^DP-1 +PASS", capsys.readouterr().out, re.MULTILINE)


def test_exit_status_and_json_of_a_failure(graded, tmp_path, capsys):
    (tmp_path / "fails").touch()
    assert program.main(["DP-1", "--root", str(tmp_path), "--json"]) == 1
    (verdict,) = json.loads(capsys.readouterr().out)
    assert (verdict["task"], verdict["passed"], verdict["reason"]) == ("DP-1", False, "it fell")
    assert (verdict["points"], verdict["of"]) == (0, load_task("DP-1").task.points)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["DP-1", "XX-9"], "there is no task 'XX-9': the tasks are "),
        (["--root", "no/such/folder"], "there is no folder no/such/folder: give --root the reposi"),
        (["--seconds", "0"], "--seconds must be above 0, not 0"),
        (["--jobs", "0"], "--jobs must be at least 1, not 0"),
        (["--memory", "0.5"], "a check needs at least 1 GB of memory, for Python and torch: 0.5"),
        (["--json", "--junit"], "give --json or --junit, not both"),
        (["--all", "a", "--root", "b"], "give --all or --root, not both"),
        (["--all", "no/such/folder"], "there is no folder no/such/folder: name the one that hol"),
        (["--all", "."], ". holds no submission: put a folder or a zip file for each person"),
    ],
)
def test_wrong_question(graded, arguments, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert program.main(arguments) == 2
    said = capsys.readouterr()
    assert said.err.startswith(sentence) and said.out == ""
    assert graded == []


def test_a_lab_or_a_lesson_names_its_tasks(graded, tmp_path):
    assert program.main(["DP", "11", "--root", str(tmp_path)]) == 0
    asked = [task_id for task_id, _, _ in graded]
    assert asked[:2] == ["DP-1", "DP-2"] and asked[-1] == "TP-5"


def test_junit_of_one(graded, tmp_path, capsys):
    (tmp_path / "fails").touch()
    assert program.main(["DP-1", "--root", str(tmp_path), "--junit"]) == 1
    assert '<failure type="crash" message="it fell">' in capsys.readouterr().out


def test_an_interrupt_shows_what_there_is(monkeypatch, tmp_path, capsys):
    def grade(task_id, *_, **__):
        if task_id == "DP-2":
            raise KeyboardInterrupt
        return Verdict(load_task(task_id).task, "pass")

    monkeypatch.setattr(program, "grade", grade)
    assert program.main(["DP", "--root", str(tmp_path)]) == 130
    said = capsys.readouterr()
    assert "1 of 1 passed" in said.out and "stopped after 1 of " in said.err


def test_what_a_student_checks_is_remembered_and_what_a_teacher_grades_is_not(
    graded, tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    program.main(["DP-1", "--root", str(tmp_path)])
    assert not (tmp_path / "progress.json").exists()
    (tmp_path / "student").mkdir()
    monkeypatch.setattr(program, "find_root", lambda: tmp_path / "student")
    program.main(["DP-1"])
    assert "DP-1" in (tmp_path / "progress.json").read_text()


def test_the_limits_of_this_system_are_shown_before_anything_is_graded(monkeypatch, capsys):
    """As the verdicts say them; and what to do where some do not hold."""
    shown = held.held_here(Limits())[0]
    assert program.main(["--limits"]) == (1 if shown.open else 0)
    said = capsys.readouterr().out
    assert "held      time: 60 s\n" in said
    assert all(f"NOT HELD  {name}\n" in said for name in shown.open)
    monkeypatch.setattr(held, "held_here", lambda limits: (Held({"time": "60 s"}, ["files"]), "no"))
    assert program.main(["--limits"]) == 1
    said = capsys.readouterr().out
    assert (
        "NOT HELD  files\nWork would run as you, and could read and change your files (no)" in said
    )
