"""A cell after an undone task says which task is missing."""

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import nbformat
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient

from helpers.grade import missing
from helpers.grade.missing import note

MESSAGE = "Task DP-1: average the gradients. Write average_gradients() in DP/a.py."


def test_a_name_that_an_undone_task_would_have_made():
    undone = {}
    note(NotImplementedError(MESSAGE), undone)
    error = NameError("name 'losses' is not defined")
    note(error, undone)
    assert undone == {"DP-1": MESSAGE}
    assert error.__notes__ == [
        "An earlier cell stopped, because a task is not done yet; this may follow from it. "
        f"{MESSAGE} Then run all cells again."
    ]


def test_where_no_task_is_missing_errors_stay_as_they_are():
    error = NameError("x")
    note(error, {})
    assert not hasattr(error, "__notes__")


def test_a_task_that_has_passed_is_missing_no_more(monkeypatch):
    shell = SimpleNamespace(lab_undone_tasks={"DP-1": MESSAGE, "DP-2": "…"})
    monkeypatch.setattr(missing, "_shell", lambda: shell)
    missing.forget_missing("DP-1")
    missing.forget_missing("T-1")
    assert shell.lab_undone_tasks == {"DP-2": "…"}


def test_in_a_kernel():
    cells = [
        "1 / 0",
        "from helpers.grade import check",
        f"def train():\n    raise NotImplementedError({MESSAGE!r})\nlosses = train()",
        "print(losses)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    kernel = AsyncKernelManager(kernel_name="python3")
    with tempfile.TemporaryDirectory() as folder:  # a short name: a socket's may not be long
        if os.name != "nt":  # no port that another program could take before it is used
            kernel.transport, kernel.ip = "ipc", str(Path(folder) / "kernel")
        NotebookClient(
            notebook, km=kernel, timeout=250, iopub_timeout=60, allow_errors=True
        ).execute()
    errors = [cell.outputs[0] for cell in notebook.cells if cell.outputs]
    said = {error.ename: "\n".join(error.traceback) for error in errors}
    assert list(said) == ["ZeroDivisionError", "NotImplementedError", "NameError"]
    assert "An earlier cell stopped" in said["NameError"]
    assert "Task DP-1: average" in said["NameError"]
    assert "An earlier cell" not in said["NotImplementedError"] + said["ZeroDivisionError"]
