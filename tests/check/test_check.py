"""A check gives each kind of work its verdict, and `solve` helps without losing what was there."""

import random
import re
import tempfile
import threading
from html import unescape

import nbformat
import psutil
import pytest
import torch

from helpers.check import check
from helpers.check.marks import TaskError
from helpers.check.notebook import with_solution
from helpers.check.task import load_task, task_ids
from helpers.check.verdict import Verdict

from .conftest import DP_1, RIGHT, Copy

pytestmark = pytest.mark.patient


def words_of(verdict) -> str:
    return re.sub(r"\s+", " ", repr(verdict))


def test_what_needs_no_run_takes_none(tmp_path, monkeypatch):
    monkeypatch.setattr("helpers.check.ranks.launch", lambda *_, **__: pytest.fail("it ran"))
    work = Copy(tmp_path)
    found = check("DP-1", root=tmp_path)
    assert found.kind == "no file" and f"there is no file {DP_1.file} in" in found.reason
    path = work.put()
    found = check("DP-1", root=tmp_path)
    line = path.read_text().split("raise NotImpl")[0].count("\n") + 1
    assert words_of(found).startswith("DP-1 TO DO average the gradients")
    assert f"Write average_gradients() in {DP_1.file}, line {line}. 10 points" in words_of(found)
    path = work.put("return (")
    line = path.read_text().split("return (")[0].count("\n") + 1
    said = check("DP-1", root=tmp_path).reason
    assert said == f"{DP_1.file}, line {line}: SyntaxError: '(' was never closed"
    path.write_text("pass\n")
    assert "has no function average_gradients: keep its name" in check("DP-1", root=tmp_path).reason


def test_hints_come_when_asked_for(tmp_path):
    Copy(tmp_path).put()
    last = len(DP_1.hints)
    text = words_of(check("DP-1", root=tmp_path))
    assert "For a hint: python -m helpers.check DP-1 --hint 1" in text
    assert not any(hint in text for hint in DP_1.hints)
    html = unescape(check("DP-1", hint=1, root=tmp_path)._repr_html_())
    assert DP_1.hints[0] in html and "--hint 2" in html
    assert "hint " not in words_of(check("DP-1", hint=last, root=tmp_path))
    for wrong in (last + 1, -1, "1"):
        with pytest.raises(ValueError, match=f"hint must be a number from 1 to {last}, not"):
            check("DP-1", hint=wrong)
    with pytest.raises(TaskError, match="there is no task 'dp1': the tasks are .*DP-1"):
        check("dp1")


def test_text_stays_text():
    html = Verdict(DP_1, "crash", "<script>", details="<b>")._repr_html_()
    assert ">FAIL<" in html and "&lt;script&gt;" in html and "<b>&lt;" not in html
    assert "<script>" not in html


BODIES = {
    "flat = 3\nfor p in model.parameters():\n    dist.all_reduce(p.grad)": (
        "crash",
        "and must be skipped .rank .* failed first at line .* of intro_DP_GA.py, in average_grad",
    ),
    RIGHT.replace("/= world_size", "/= 3"): (
        "mistake",
        r"^the gradients are divided by 3, where world_size is 4 \(rank 0, gradient, embedding: ",
    ),
    RIGHT.replace("/= world_size", "*= 7"): (
        "mistake",
        r"^rank 0, gradient, embedding: \S+ in place of \S+ at \(.*\) \(20 places differ\)$",
    ),
    "dist.recv(torch.zeros(1), dist.get_rank() ^ 1)": (
        "crash", "^deadlock: ranks 0 and 1 both receive first",
    ),
    "import os\nos._exit(0)": ("crash", "rank . ended without a word"),
    f"print('hello')\n{RIGHT}": ("pass", "^$"),
}  # fmt: skip


@pytest.mark.slow
def test_each_kind_of_work_gets_its_verdict(tmp_path, monkeypatch):
    work, verdicts, place = Copy(tmp_path), [], tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    drawn = random.getstate(), torch.initial_seed()
    for body, (kind, words) in BODIES.items():
        work.put(body)
        found = check("DP-1", root=tmp_path)
        assert found.kind == kind and re.search(words, found.reason), found
        verdicts.append(found)
    assert drawn == (random.getstate(), torch.initial_seed()), "a lesson goes on as it was"
    html = verdicts[-1]._repr_html_()
    assert "One way to write it" in html and "flat" in html and "hello" in html
    assert "data:image" in verdicts[3]._repr_html_()  # who waits for whom
    assert "dist.all_reduce(p.grad)" in verdicts[0].details
    assert "dist.recv(torch.zeros(1)" in verdicts[3].details  # not what stood there before
    assert "Traceback" in verdicts[0]._repr_html_()
    assert not list(place.glob("check-*"))


@pytest.mark.slow
def test_a_wrong_check_takes_few_processes(tmp_path):
    Copy(tmp_path).put(RIGHT.replace("/= world_size", "/= 3"))
    counts, me = [], psutil.Process()
    thread = threading.Thread(target=check, args=("DP-1", 0, tmp_path))
    thread.start()
    while thread.is_alive():
        counts.append(len(me.children(recursive=True)))
        thread.join(0.02)
    assert 4 < max(counts) <= 6


@pytest.mark.parametrize("task_id", task_ids())
def test_the_reference_fits_into_a_students_file(task_id):
    """Around it everything is the student's; without the function it's the script as it was."""
    task = load_task(task_id)
    stubbed = with_solution(task, "")
    assert "SOLUTION" not in stubbed and f"Task {task_id}: " not in stubbed
    compile(stubbed, task.file, "exec")
    again = with_solution(task, f"# mine\n{stubbed}")
    assert again == f"# mine\n{stubbed}"


CELLS = [
    "from helpers.check import check, solve\nimport sys\nsys.path[:0] = ['../DP/gradient_aggr']\n"
    "import intro_DP_GA\nfrom intro_DP_GA import average_gradients as mine",
    "1 / 0",
    "kept, (a, *b) = 2, mine(None, 3)",
    "[each for each in b]",
    "print(unknown)",
    "check('DP-1')",
    "solve('DP-1')",
    "a = mine.__code__.co_consts, intro_DP_GA.average_gradients is mine",
    "print(any('Task DP-1' in str(each) for each in a[0]), a[1])",
    "print(b)",
    "check('DP-1')",
]


@pytest.mark.slow
def test_in_a_kernel_a_cell_names_the_task_it_needs_and_solve_helps(copy):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    said = copy.execute(notebook)
    assert said[0] == ""
    assert [said[n] for n in (1, 4, 9)] == ["ZeroDivisionError", "NameError", "NameError"]
    line = f"This cell needs task DP-1: {DP_1.title}. Write average_gradients() in {DP_1.file} and "
    for n in (2, 3):  # the cell that stopped, and one that lacks a name of it
        assert said[n].startswith(line) and said[n].endswith('solve("DP-1")')
        assert said[n].count("\n") == 0
    assert "DP-1  TO DO" in said[5] and 'For a hint: check("DP-1", hint=1)' in said[5]
    assert said[6].endswith("what you had is in intro_DP_GA.mine1.py.\n")
    assert said[8] == "False True\n"
    assert "DP-1  PASS" in said[10] and "so it doesn't count as done." in said[10]
    mine = copy.root / "DP/gradient_aggr/intro_DP_GA.mine1.py"
    assert "raise NotImplementedError" in mine.read_text()
    assert not copy.record.exists()  # it was nobody's work
