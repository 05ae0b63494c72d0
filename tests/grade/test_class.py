"""A class of six, by the command that a teacher types: one row each, whatever the others did."""

import csv
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.patient]

ROOT = Path(__file__).resolve().parents[2]
FILE = "DP/gradient_aggr/intro_DP_GA.py"
REFERENCE = (ROOT / FILE).read_text(encoding="utf-8")
BEGINS = "    # BEGIN SOLUTION DP-1\n"
# Of each: what of the reference becomes what, its points, and what its row says of it.
CLASS = {
    "ada": (("", ""), "10", ""),  # in a zip
    "bob": (("flat /= world_size", "pass"), "0", "the gradients are the sum over the ranks"),
    "carl": (None, "", "handed in nothing"),
    "dan": ((BEGINS, BEGINS + "    1 / 0\n"), "0", "ZeroDivisionError"),
    "eve": (("", ""), "10", ""),  # in a folder
    "fay": ((BEGINS, BEGINS + "    if dist.get_rank():\n        return\n"), "0", "left early"),
}


def hand_in(folder):
    for name, (change, _, _) in CLASS.items():
        work = REFERENCE.replace(*change) if change else ""
        assert change in (None, ("", "")) or work != REFERENCE
        if name == "ada":
            with zipfile.ZipFile(folder / "ada.zip", "w") as archive:
                archive.writestr(f"homework/{FILE}", work)
            continue
        place = folder / name / FILE
        place.parent.mkdir(parents=True)
        if change:
            place.write_text(work, encoding="utf-8")


def test_six_get_their_rows(tmp_path):
    (tmp_path / "class").mkdir()
    hand_in(tmp_path / "class")
    command = ["-m", "helpers.grade", "DP-1", "--all", "../class", "--out", "../grades"]
    command = [each.replace("..", str(tmp_path)) for each in command]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "grades" / "grades.csv").open(encoding="utf-8-sig", newline="") as table:
        rows = {row["submission"]: row for row in csv.DictReader(table)}
    assert [*rows] == [*CLASS]
    for name, (_, points, words) in CLASS.items():
        row = rows[name]
        assert row["points"] == row["DP-1"] == points, row
        assert words in row["feedback"] + row["note"], row
        assert name in done.stdout
