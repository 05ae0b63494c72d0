import json
import re

import pytest

from helpers.grade import __main__ as program
from helpers.grade.task import load_task, task_ids
from helpers.grade.verdict import Verdict


@pytest.fixture
def graded(monkeypatch):
    """Notes what would be graded, and lets it pass or fail."""
    asked = []

    def grade(task_id, root, seconds):
        asked.append((task_id, root, seconds))
        kind = "crash" if (root / "fails").exists() else "pass"
        return Verdict(load_task(task_id).task, kind, "it fell" if kind == "crash" else "")

    monkeypatch.setattr(program, "grade", grade)
    return asked


def test_all_tasks_of_a_folder(graded, tmp_path, capsys):
    assert program.main(["--root", str(tmp_path), "--seconds", "5"]) == 0
    assert graded == [(task_id, tmp_path, 5) for task_id in task_ids()]
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
    ],
)
def test_wrong_question(graded, arguments, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert program.main(arguments) == 2
    said = capsys.readouterr()
    assert said.err.startswith(sentence) and said.out == ""
    assert graded == []
