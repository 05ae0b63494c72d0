"""A class: a folder or a zip for each student, one row for each, whatever they hold."""

import csv
import re
import shutil
import zipfile

import pytest

from helpers.check.__main__ import main, top_of

from .conftest import DP_1, RIGHT, Copy


@pytest.fixture
def submissions(tmp_path):
    root = tmp_path / "submissions"
    Copy(root / "ada").put(RIGHT)
    Copy(root / "ben").put(RIGHT.replace("/= world_size", "/= 3"))
    (root / "cleo").mkdir()
    Copy(root / "dan").put("raise ValueError('=1+1')")
    work = Copy(tmp_path / "zipped" / "lab").put(RIGHT)
    with zipfile.ZipFile(root / "eve.zip", "w") as packed:
        packed.write(work, f"eves lab/{DP_1.file}")
    Copy(root / "fay").put("dist.recv(torch.zeros(1), dist.get_rank() ^ 1)")
    (root / "gus.zip").write_text("no zip")
    return root


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_a_row_for_each_and_the_checks_own_sentence(submissions, zone, tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    out = tmp_path / "grades.csv"
    assert main(["--all", str(submissions), "--out", str(out), "DP-1"]) == 0
    head, *rows = csv.reader(out.read_text("utf-8-sig").splitlines())
    assert head == ["name", "points of 10", "DP-1", "DP-1 says", "DP-1 score"]
    says = {
        "ada": "^$",
        "ben": "the gradients are divided by 3, where world_size is 4",
        "cleo": f"^there is no file {DP_1.file}$",
        "dan": r"failed first at line \d+ of intro_DP_GA.py, in average_gradients: ValueError: =1",
        "eve": "^$",
        "fay": "^deadlock: ranks 0 and 1 both receive first",
        "gus": "the zip can't be opened",
    }
    assert [row[0] for row in rows] == list(says)
    for name, points, own, sentence, _ in rows:
        assert (points, own) == (("10", "10") if name in ("ada", "eve") else ("0", "0"))
        assert re.search(says[name], sentence), sentence
    assert not (tmp_path / "progress.json").exists()


def test_folders_around_the_work_are_found_through(tmp_path):
    deep = tmp_path / "eves lab (2)" / "lab"
    Copy(deep).put(RIGHT)
    assert top_of(tmp_path, [DP_1]) == deep.resolve()
    shutil.rmtree(deep)
    assert top_of(tmp_path, [DP_1]) == tmp_path.resolve()


def test_wrong_arguments_are_one_sentence(capsys, tmp_path):
    for words, said in (
        (["XX-1"], "there is no task, lab or lesson 'XX-1'"),
        (["--all", str(tmp_path / "none")], "there is no folder"),
        (["--root", str(tmp_path / "none"), "DP-1"], "there is no folder"),
    ):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1
