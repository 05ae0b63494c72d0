from pathlib import Path

import pytest

from helpers.grade.labs import all_tasks
from helpers.grade.signs import signs, signs_of
from helpers.grade.task import ROOT


def found_in(tmp_path, text):
    path = tmp_path / "work.py"
    path.write_text(text)
    return signs(path)


@pytest.mark.parametrize(
    ("line", "remark"),
    [
        (
            "import helpers.oracle",
            "line 2 names helpers.oracle, which reaches the judge of layouts",
        ),
        ("from helpers import oracle", "line 2 names helpers.oracle, which reaches the judge of l"),
        ("import lab_task_dp_1 as x", "line 2 names lab_task_dp_1"),
        ("x = sys.modules['lab_task'].verify", "line 2 names lab_task, which reaches the check"),
        ("import inspect, gc", "line 2 names gc, which reaches all objects of its process"),
        ("sys._getframe(1).f_locals", "line 2 names _getframe"),
        ("exec('1')", "line 2 names exec()"),
    ],
)
def test_work_that_reaches_for_the_check(tmp_path, line, remark):
    found = found_in(tmp_path, f"import sys\n{line}\n")
    assert any(one.startswith(remark) for one in found), found


@pytest.mark.parametrize(
    "text",
    ["[m for m in model.modules()]", "import torch\nfrom helpers.ranks import x",
     "model.eval()", "def broken(:", "re.compile('a')"],
)  # fmt: skip
def test_honest_work_has_no_signs(tmp_path, text):
    assert found_in(tmp_path, text) == []


def test_no_solution_of_this_lab_has_a_sign():
    """Else every teacher would look at every submission."""
    files = {task.file for task in all_tasks()}
    assert {file: signs(Path(ROOT, file)) for file in files} == dict.fromkeys(files, [])


def test_what_lies_beside_the_task_is_looked_at_too(tmp_path):
    for name, text in {
        "lab/work.py": "import beside\nimport gc\n",
        "lab/beside.py": "\nimport helpers.oracle\n",
        "lab/deep/er.py": "import torch\n",
    }.items():
        tmp_path.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(name).write_text(text)
    assert signs_of(tmp_path, "lab/work.py") == [
        "line 2 names gc, which reaches all objects of its process",
        "lab/beside.py, line 2 names helpers.oracle, which reaches the judge of layouts",
    ]


def test_what_the_labs_own_file_names_is_no_sign_but_more_is(tmp_path):
    path = tmp_path / "TP" / "mpirun.py"  # starts other programs, as its name says
    path.parent.mkdir()
    path.write_bytes((ROOT / "TP" / "mpirun.py").read_bytes() + b"\nimport gc\n")
    (found,) = signs_of(tmp_path, "TP/work.py")
    assert found.startswith("TP/mpirun.py, line ") and "names gc" in found


def test_a_flood_of_files_or_signs_is_not_looked_through(tmp_path, monkeypatch):
    (tmp_path / "work.py").write_text("import gc\n" * 30)
    (tmp_path / "beside.py").write_text("import gc\n" * 30)
    found = signs_of(tmp_path, "work.py")
    assert len(found) == 21 and found[-1] == "and 40 more"
    monkeypatch.setattr("helpers.grade.signs.MOST_BYTES", 100)
    (tmp_path / "work.py").write_text("")
    assert signs_of(tmp_path, "work.py") == [
        "not all files were looked through: they have more than 100 B"
    ]
