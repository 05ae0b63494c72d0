"""What a person has done: kept through updates, never in the way."""

import datetime
import json

import pytest

from helpers.grade import progress, record
from helpers.grade.many import grade_all
from helpers.grade.task import all_tasks
from helpers.grade.verdict import Verdict

# As every edition so far has written it.
OLD = (
    '{"tasks": {"T-1": {"tries": 2, "passed": "2026-01-31"}, "G-1": {"tries": 1, "passed": null}}}'
)


@pytest.fixture
def path(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "progress.json"
    monkeypatch.setenv("LAB_PROGRESS", str(path))
    return path


def test_what_has_passed_stays_passed(path, task):
    for kind in ("mistake", "pass", "crash"):
        record.remember(Verdict(task, kind), path.parent)
    facts = record.read_record(path)["T-1"]
    assert facts["tries"] == 3 and len(facts["passed"]) == len("2026-01-31")


def test_a_record_written_before_goes_on(path, task):
    path.parent.mkdir()
    path.write_text(OLD)
    record.remember(Verdict(task, "crash"), path.parent)
    found = record.read_record(path)
    assert found["T-1"] == {"tries": 3, "passed": "2026-01-31"} and found["G-1"]["tries"] == 1
    assert "(done on 2026-01-31, 3 tries)" in progress.overview(
        all_tasks(), {all_tasks()[0].id: found["T-1"]}
    )


def test_what_is_nobodys_progress(path, small, task, monkeypatch, capsys):
    record.remember(Verdict(task, "pass"), small.root)  # its solution came with the edition
    monkeypatch.setenv("LAB_STATIC", "1")  # while lessons are built
    record.remember(Verdict(task, "pass"), path.parent)
    monkeypatch.delenv("LAB_STATIC")
    assert not path.exists()
    text = small.work.read_text().replace("SOLUTION T-1", "SOLUTION T-12")
    small.work.write_text(text)  # another task's marks
    record.remember(Verdict(task, "pass"), small.root)
    assert record.read_record(path)["T-1"]["passed"]
    assert progress.main([]) == 0  # this repository is the edition with solutions
    assert "This folder holds the solutions" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"tasks": 3}', '{"tasks": {"T-1": 3}}', '{"tasks": [1]}', "\0", "[" * 200_000,
     '{"tasks": {"DP-1": {"tries": 1e999}}}'],
)  # fmt: skip
def test_a_broken_record_starts_anew(path, task, text):
    path.parent.mkdir()
    path.write_text(text)
    assert record.read_record(path) == {}
    record.remember(Verdict(task, "pass"), path.parent)
    assert record.read_record(path)["T-1"]["tries"] == 1


def test_what_cannot_be_written_breaks_no_check(path, task):
    path.parent.write_text("a file where a folder should be")
    record.remember(Verdict(task, "pass"), path.parent)


def test_the_record_is_the_users_own_and_not_in_this_folder(monkeypatch, tmp_path):
    assert record.progress_file() is None  # LAB_PROGRESS=off
    monkeypatch.delenv("LAB_PROGRESS")
    for name in ("XDG_DATA_HOME", "HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    found = record.progress_file()
    assert found.is_relative_to(tmp_path) and found.name == "progress.json"


@pytest.mark.parametrize("hours", [None, 9, -5], ids=["no offset", "Tokyo", "New York"])
def test_minutes_from_the_first_look_to_the_pass(path, task, tmp_path, monkeypatch, hours):
    record.remember(Verdict(task, "not done"), tmp_path)
    assert record.read_record(path) == {}
    facts = json.loads(path.read_text())
    met = datetime.datetime.now().astimezone() - datetime.timedelta(minutes=25)
    if hours is None:  # as records were written once
        met = met.replace(tzinfo=None)
    else:  # before a journey, or before the clocks went back
        met = met.astimezone(datetime.timezone(datetime.timedelta(hours=hours)))
    facts["times"]["T-1"]["met"] = met.isoformat(timespec="seconds")
    path.write_text(json.dumps(facts))
    for kind in ("mistake", "pass", "pass"):
        record.remember(Verdict(task, kind), tmp_path)
    assert record.read_all(path)["times"]["T-1"]["minutes"] == 25
    facts["times"]["T-1"]["met"] = "2026-01-01T10:00:00"  # another day
    path.write_text(json.dumps(facts))
    record.remember(Verdict(task, "pass"), tmp_path)
    assert record.read_all(path)["times"]["T-1"]["minutes"] is None


def test_the_way(path, capsys):
    first, second, *_ = all_tasks()
    done = {"tries": 1, "passed": "2026-01-31"}
    text = progress.overview(all_tasks(), {first.id: done})
    assert f"[x] {first.id:8} {first.points:2d} points" in text
    assert f"next: lesson {second.number}, task {second.id}" in text
    everything = progress.overview(all_tasks(), {task.id: done for task in all_tasks()})
    assert "everything is done" in everything
    assert all(f"] {task.id} " in text for task in all_tasks())  # each belongs to a listed lesson
    assert progress.main([]) == 0
    assert f"kept in {path}" in capsys.readouterr().out
    assert progress.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"tasks": {}}


def test_predictions_numbers_and_skipped_tasks_show(path):
    first = all_tasks()[0]
    lesson = first.lesson
    record.note_prediction(f"{lesson}-81", "A", True)
    record.note_prediction(f"{lesson}-82", "B", False)
    record.note_prediction(f"{lesson}-83", "B")
    record.note_answer(f"{lesson}-84", True)
    record.note_skipped(first.id)
    text = progress.overview(all_tasks(), {}, record.read_all(path))
    assert "(predictions: 1 of 3 right; numbers: 1 of 1 right)" in text
    assert f"{first.title} (about {first.minutes} min, skipped on " in text
    assert "\npredictions: 1 of 3 right" in text
    done = {first.id: {"tries": 1, "passed": "2026-01-31"}}
    assert "skipped" not in progress.overview([first], done, record.read_all(path))


@pytest.mark.slow
def test_a_forged_record_earns_nothing(small, tmp_path):
    facts = {"tasks": {"T-1": {"passed": "2026-01-01"}}, "times": {"T-1": {"minutes": 3}}}
    folder = tmp_path / "class" / "eve"
    (folder / "lab").mkdir(parents=True)
    (folder / "lab" / "work.py").write_text("def add_one(number):\n    return number - 1\n")
    claims = {"name": "Eve", "points": 4, "passed": ["T-1"], "record": facts}
    (folder / "handin.json").write_text(json.dumps(claims))
    (one,) = grade_all([folder], ["T-1"], folder=small.tasks).graded
    assert one.points == 0 and one.verdicts["T-1"].kind == "mistake"
