"""What a person has done is kept through updates and damage, and is never in the way."""

import json

import pytest

from helpers import record
from helpers.check.progress import note_check, overview


@pytest.fixture
def path(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "progress.json"
    monkeypatch.setenv("LAB_PROGRESS", str(path))
    record.HERE.clear()
    return path


def test_tries_are_counted_what_has_passed_stays_so_and_the_way_shows_it(path):
    for kind in ("to do", "mistake", "pass", "crash", "no file", "check"):
        note_check("DP-1", kind)
    note_check("TR-1", "mistake")
    record.note("predictions", "data_parallel_gradients-1", {"chosen": "A", "right": True})
    facts = json.loads(path.read_text())["tasks"]["DP-1"]
    assert facts["tries"] == 3 and len(facts["passed"]) == len("2026-01-31")
    done, text = f"done on {facts['passed']}, tries: 3", overview()
    assert f"[x] DP-1     10 points  average the gradients ({done})" in text
    assert "write the training loop (begun, tries: 1)" in text
    assert text.count("predictions: 1 of 1 right") == 2  # of the lesson, and of all
    assert "next: lesson 01, task TR-1 (" in text and f"kept in {path}" in text


@pytest.mark.parametrize("text", ["", "[]", '{"tasks": {"T-1": 3}}', "\0", "[" * 200_000])
def test_a_damaged_record_is_set_aside_and_nothing_is_lost(path, text, capsys):
    path.parent.mkdir()
    for number in (1, 2):
        path.write_text(text)
        note_check("DP-1", "pass")
        aside = path.with_name(f"progress.damaged{number}")
        assert aside.read_text() == text and aside.name in capsys.readouterr().out
    assert json.loads(path.read_text())["tasks"]["DP-1"]["passed"]


def test_what_cannot_be_written_breaks_nothing_and_this_process_remembers(path, monkeypatch):
    path.parent.write_text("a file where a folder should be")
    record.note("predictions", "sums-1", {"chosen": "B"})
    assert record.noted("predictions") == {"sums-1": {"chosen": "B"}}
    monkeypatch.setenv("LAB_STATIC", "1")  # while lessons are built
    record.note("predictions", "sums-2", {"chosen": "B"})
    assert record.noted("predictions") == {}


def test_the_record_is_the_users_own_and_not_in_this_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("LAB_PROGRESS", raising=False)
    for name in ("XDG_DATA_HOME", "HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    assert tmp_path in record.progress_file().parents
