"""`check` in a kernel: its verdict, the process that judges, and what a later cell is told."""

import os
import signal
import tempfile
import threading
import time
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient

from helpers.grade import check, kept, missing, notebook
from helpers.grade.kept import KeptJudge, kept_judge
from helpers.grade.limits import Held
from helpers.grade.marks import replace_regions
from helpers.grade.notebook import find_root
from helpers.grade.record import read_record
from helpers.grade.task import ROOT, TaskError, all_tasks, load_task
from helpers.grade.verdict import Verdict, table

pytestmark = pytest.mark.patient

DP_1 = load_task("DP-1").task


def put(root: Path, body: str | None = None) -> None:
    """DP-1's file below `root`, with its solution or another body."""
    text = (ROOT / DP_1.file).read_text(encoding="utf-8")
    (root / DP_1.file).parent.mkdir(parents=True, exist_ok=True)
    new = replace_regions(text, lambda region: body or region.body)
    (root / DP_1.file).write_text(new, encoding="utf-8")


@pytest.fixture(scope="module")
def judge():
    judge = KeptJudge()
    yield judge
    judge.close()


@pytest.mark.slow
def test_the_second_check_finds_everything_begun(judge, tmp_path):
    put(tmp_path)
    assert judge.check("DP-1", tmp_path).passed

    def begun():
        """The judge, its ranks' server with its tracker, and the workshop: what a check starts."""
        tree = [psutil.Process(judge._process.pid)]
        return [process.pid for process in [*tree, *tree[0].children()]]

    first = begun()
    found = judge.check("DP-1", tmp_path)
    assert found.passed and found.limits.open == ["files", "network", "user"]
    assert begun() == first and len(first) == 4
    put(tmp_path, "for p in model.parameters():\n    pass")
    found = judge.check("DP-1", tmp_path)
    assert found.kind == "mistake" and "every rank still has its own gradients" in found.reason
    put(tmp_path, DP_1.stub())
    found = judge.check("DP-1", tmp_path)
    assert (found.word, found.reason) == ("TO DO", f"not done yet: {DP_1.not_done}")


@pytest.mark.slow
def test_a_kernel_that_makes_torch_agree_gets_no_pass(judge, tmp_path, monkeypatch):
    import torch

    for name in ("allclose", "equal", "isclose"):
        monkeypatch.setattr(torch, name, lambda *_, **__: torch.tensor(True))
    monkeypatch.setattr("helpers.grade.verify.same", lambda *_, **__: True)
    monkeypatch.setattr("helpers.grade.judge.verify", lambda *_: None)
    put(tmp_path, "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True")
    assert judge.check("DP-1", tmp_path).kind == "mistake"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_an_interrupt_ends_the_check_and_the_next_one_begins_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "_kept", lambda found=[]: found)  # noqa: B006
    put(tmp_path, "while True:\n    pass")
    judge = kept_judge()
    assert kept_judge() is judge
    below = []

    def interrupt():
        process = psutil.Process(judge._process.pid)
        while len(process.children(recursive=True)) <= DP_1.ranks:  # until the work runs
            time.sleep(0.1)
        below.extend(process.children(recursive=True))
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    # A worker of pytest-xdist ignores it otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            judge.check("DP-1", tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not judge.alive and below
    assert psutil.wait_procs(below, timeout=30)[1] == []
    again = kept_judge()
    assert again is not judge
    again._process.kill()
    assert again.check("DP-1", tmp_path).kind == "no verdict"
    assert not again.alive


# --- check, around it ----------------------------------------------------------------------------


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """Lets `check` get a verdict of this kind, and notes what was asked."""
    asked = []
    kind = ["pass"]

    def check(task_id, root):
        asked.append((task_id, root))
        return Verdict(DP_1, kind[0], "" if kind[0] == "pass" else "it fell")

    monkeypatch.setattr(notebook, "kept_judge", lambda: SimpleNamespace(check=check))
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    return SimpleNamespace(asked=asked, kind=kind, record=tmp_path / "progress.json")


def test_check_grades_the_repository_around_the_notebook(small, judged, monkeypatch):
    (small.root / "notebooks" / "deep").mkdir(parents=True)
    monkeypatch.chdir(small.root / "notebooks" / "deep")
    check("DP-1")
    assert judged.asked == [("DP-1", small.root)]
    assert read_record(judged.record)["DP-1"]["passed"]


def test_no_hint_unasked(judged, small, monkeypatch):
    monkeypatch.chdir(small.root)
    judged.kind[0] = "mistake"
    found = check("DP-1")
    for text in (repr(found).replace("\n  ", " "), unescape(found._repr_html_())):
        assert "hint=1" in text and "Next:" not in text
        assert not [hint for hint in DP_1.hints if hint in text]
    second = repr(check("DP-1", hint=2)).replace("\n  ", " ")
    assert DP_1.hints[1] in second and "hint=3" in second
    assert "hint=" not in repr(check("DP-1", hint=3))


def test_a_stub_is_to_do_and_a_pass_says_what_comes_next(judged, small, monkeypatch):
    monkeypatch.chdir(small.root)
    tasks = all_tasks()
    after = tasks[[task.id for task in tasks].index("DP-1") + 1]
    text = repr(check("DP-1"))
    assert f"Next: {after.id}, " in text or f"next task is {after.id}" in text
    assert "that was the last task" in notebook._after(tasks[-1])
    judged.kind[0] = "not done"
    found = check("DP-1")
    text = repr(found)
    assert "TO DO" in text and f"{DP_1.points} points, about {DP_1.minutes} minutes" in text
    assert "FAIL" not in text and ">TO DO<" in found._repr_html_()


@pytest.mark.parametrize("hint", [4, -1, "1"])
def test_a_wrong_hint(hint):
    with pytest.raises(ValueError, match="hint must be a number from 1 to 3, or 0 for none, not"):
        check("DP-1", hint=hint)


def test_an_unknown_task_and_the_root_elsewhere(tmp_path, monkeypatch):
    with pytest.raises(TaskError, match="there is no task 'dp1': the tasks are .*DP-1"):
        check("dp1")
    monkeypatch.chdir(tmp_path)
    assert find_root() == ROOT


# --- the verdict ---------------------------------------------------------------------------------


def test_a_verdict_as_text_and_html(task):
    assert repr(Verdict(task, "pass", seconds=3.21)) == "T-1  PASS  add one  (3.2 s)"
    html = Verdict(task, "crash", "<script>", hint=2)._repr_html_()
    assert ">FAIL<" in html and "&lt;script&gt;" in html and "second &lt;hint&gt;" in html
    assert "<script>" not in html


def test_a_table_of_verdicts(task):
    verdicts = [Verdict(task, "pass", seconds=2.5), Verdict(task, "crash", "it fell", seconds=11)]
    lines = table([*verdicts, Verdict(task, "not done", limits=Held({"time": ""}, ["files"]))])
    assert lines.splitlines() == [
        "task  verdict    time  what",
        "T-1   PASS      2.5 s  add one",
        "T-1   FAIL     11.0 s  add one",
        "      it fell",
        "T-1   TO DO     0.0 s  add one",
        "1 of 3 passed, 5 of 15 points",
        "not held here: files",
    ]
    assert "not held" not in table(verdicts)


# --- a cell that needs an undone task -------------------------------------------------------------

MESSAGE = load_task("DP-1").task.not_done
CELLS = [
    "from helpers.grade import check\nfrom helpers.lesson import skip\nkept = 1",
    "1 / 0",
    f"def train():\n    raise NotImplementedError({MESSAGE!r})\nkept, (a, *b) = 2, train()",
    "[kept for kept in b]",
    "train",
    "print(unknown)",
    "skip('DP-1')",
    "a = 3",
    "print(a, train)",
]


def test_what_a_cell_sets():
    source = (
        "import os\nfor i in x: y = z = i\ndef f(): g = 1\nwith o() as (p, q): p.r = 1\nw[0] = 1"
    )
    assert missing.names_set(source) == {"i", "y", "z", "f", "p", "q"}


def test_a_task_that_has_passed_is_missing_no_more(monkeypatch):
    undone = missing.Undone({"DP-1", "DP-2"}, {"losses": "DP-1"})
    monkeypatch.setattr(missing, "the_shell", lambda: SimpleNamespace(lab_undone_tasks=undone))
    missing.forget_missing("DP-1")
    missing.forget_missing("T-1")
    assert undone.tasks == {"DP-2"}
    error = NameError("name 'losses' is not defined")
    assert missing.task_behind(error, undone) == "DP-1" and undone.tasks == {"DP-2"}
    assert missing.task_behind(NameError("name 'other' is not defined"), undone) == ""
    failed = RuntimeError(f"rank 1 failed first: NotImplementedError: {MESSAGE}")
    assert missing.task_behind(failed, undone) == "DP-1" and "DP-1" in undone.tasks


@pytest.mark.slow
def test_in_a_kernel_a_cell_names_the_task_that_it_needs_and_the_notebook_goes_on():
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    kernel = AsyncKernelManager(kernel_name="python3")
    with tempfile.TemporaryDirectory() as folder:  # a short name: a socket's may not be long
        if os.name != "nt":  # no port that another program could take before it is used
            kernel.transport, kernel.ip = "ipc", str(Path(folder) / "kernel")
        NotebookClient(made, km=kernel, timeout=250, iopub_timeout=60, allow_errors=True).execute()
    said = [cell.outputs[0] if cell.outputs else None for cell in made.cells]
    assert said[0] is None
    assert [said[n].ename for n in (1, 5)] == ["ZeroDivisionError", "NameError"]
    card = f"This cell needs task DP-1 of lesson 03: {DP_1.title} (about 15 minutes)."
    for n in (2, 3, 4):  # the name it stopped at, one that it had set before, and a function
        assert said[n].output_type == "display_data"
        assert said[n].data["text/plain"].startswith(card)
    assert "holds the solution of DP-1" in said[6].data["text/plain"]
    assert "This cell needs task DP-1" in said[8].data["text/plain"]  # `a` is there, `train` isn't
