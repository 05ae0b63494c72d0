from pathlib import Path

import pytest

from helpers.grade.labs import all_tasks
from helpers.grade.signs import signs
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
