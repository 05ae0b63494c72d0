"""The GPT-2 folder is an import root of its own: these tests run in a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GPT2 = ROOT / "gpt2"
if str(GPT2) not in sys.path:
    sys.path.insert(0, str(GPT2))


@pytest.fixture(autouse=True)
def one_thread():
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def program(tmp_path):
    """program("run_pipeline", "--n_epochs", 1) -> the process, ended; it ran in tmp_path."""

    def run(name, *flags):
        return subprocess.run(
            [sys.executable, str(GPT2 / "project" / f"{name}.py"), *map(str, flags)],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            cwd=tmp_path, capture_output=True, text=True, timeout=400,
        )  # fmt: skip

    return run
