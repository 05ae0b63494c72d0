"""A student's copy of the lab, to work in."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient

from helpers.check.marks import replaced
from helpers.check.student import write
from helpers.check.task import ROOT, load_task

DP_1 = load_task("DP-1")
RIGHT = """
for p in model.parameters():
    if p.grad is not None:
        dist.all_reduce(p.grad)
        p.grad /= world_size
"""


class Copy:
    """A copy, what is put into its files, and its commands."""

    def __init__(self, root: Path):
        self.root, self.record = root, root.parent / "progress.json"
        self.env = os.environ | {"PYTHONPATH": str(root), "LAB_PROGRESS": str(self.record)}

    def put(self, body: str = "", task=DP_1) -> Path:
        """Write the file of a task with this body, or with its stub."""
        text = (ROOT / task.file).read_text("utf-8")
        path = self.root / task.file
        path.parent.mkdir(parents=True, exist_ok=True)
        new = replaced(text, lambda one, _: body or task.stub if one == task.id else "pass")
        path.write_text(new, "utf-8")
        return path

    def run(self, *words: str) -> str:
        """Run Python in the copy; what it prints."""
        how = {"cwd": self.root, "env": self.env, "capture_output": True, "text": True}
        done = subprocess.run([sys.executable, *words], **how)
        return done.stdout + done.stderr

    def execute(self, notebook, **variables) -> list[str]:
        """Run a notebook from the top in the copy; of each code cell what it shows, as text."""
        kernel = AsyncKernelManager(kernel_name="python3")
        with tempfile.TemporaryDirectory() as folder:  # a short name: a socket's may not be long
            if os.name != "nt":  # no port that another program could take before it is used
                kernel.transport, kernel.ip = "ipc", str(Path(folder) / "kernel")
            client = NotebookClient(notebook, km=kernel, timeout=600, allow_errors=True)
            client.resources = {"metadata": {"path": str(self.root / "notebooks")}}
            client.execute(env=self.env | variables)
        return ["\n".join(map(shown, cell.outputs)) for cell in notebook.cells if "outputs" in cell]


def shown(output) -> str:
    plain = output.get("data", {}).get("text/plain", "")
    return output.get("text", "") + plain + output.get("ename", "")


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    root = tmp_path_factory.mktemp("copy") / "my-lab"
    write(root)
    return root


@pytest.fixture
def copy(written, tmp_path):
    return Copy(Path(shutil.copytree(written, tmp_path / "my-lab")))
