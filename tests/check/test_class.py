"""The folders and zips of a class become a table, with a row for each, whatever they hold."""

import csv
import re
import zipfile

import pytest

from helpers.check.__main__ import main

from .conftest import DP_1, RIGHT, Copy

THIRD = RIGHT.replace("/= world_size", "/= 3")
WORK = {
    "ada": (RIGHT, "^$"),
    "ben": (THIRD, "^the gradients are divided by 3, where world_size is 4"),
    "=dan": ("1 / 0", r"at line \d+ of intro_DP_GA.py, in .*: ZeroDivisionError"),
    "fay": ("dist.recv(torch.zeros(1), dist.get_rank() ^ 1)", "^deadlock: ranks 0 and 1 both rec"),
}
OTHERS = {"cleo": f"^there is no file {DP_1.file}$", "eve": "^$", "gus": "the zip can't be opened"}


@pytest.mark.slow
def test_a_row_for_each_and_the_checks_own_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    root = tmp_path / "submissions"
    out = root / "grades.csv"
    for name, (body, _) in WORK.items():
        Copy(root / name).put(body)
    (root / "cleo").mkdir()
    with zipfile.ZipFile(root / "eve.zip", "w") as packed:
        packed.write(root / "ada" / DP_1.file, f"eves lab/{DP_1.file}")
    for name in ("gus.zip", "hal.tar.gz", "notes.txt"):
        (root / name).write_text("no zip")
    assert main(["--all", str(root), "--out", str(out), "DP-1"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "Skipped, neither a folder nor a zip: hal.tar.gz, notes.txt"
    head, *rows = csv.reader(out.read_text("utf-8-sig").splitlines())
    assert head == ["name", "points of 10", "DP-1", "DP-1 says", "DP-1 score"]
    says = dict(sorted(({name: words for name, (_, words) in WORK.items()} | OTHERS).items()))
    assert [row[0] for row in rows] == ["'=dan", *list(says)[1:]]  # it is no formula
    for name, points, own, sentence, _ in rows:
        name = name.removeprefix("'")
        assert (points, own) == (("10", "10") if name in ("ada", "eve") else ("0", "0"))
        assert re.search(says[name], sentence), sentence
    assert not (tmp_path / "progress.json").exists()


def test_wrong_arguments_are_one_sentence(capsys, tmp_path):
    for words, said in (
        (["XX-1"], "there is no task, lab or lesson 'XX-1'"),
        (["--all", str(tmp_path / "none")], "there is no folder"),
        (["--root", str(tmp_path / "none"), "DP-1"], "there is no folder"),
        (["--hint", "9", "DP-1"], "hint must be a number from 1 to 2, not 9"),
    ):
        assert main(words) == 2
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1
