"""The script DP_PP/survival, killed under torchrun; lesson 21 starts it again on other layouts."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.ranks import find_place, launch

pytestmark = [pytest.mark.long, pytest.mark.ranks]

SCRIPT = Path(__file__).resolve().parents[3] / "DP_PP/survival/intro_survival.py"
FLAGS = ["--dmodel", "12", "--heads", "2", "--layers", "2", "--seq-l", "16", "--every", "2"]
FLAGS += ["--micro-batches", "1", "--stages", "2", "--steps", "8", "--checkpoints"]


def train(folder):
    """On a rank: the script's losses by step."""
    spec = importlib.util.spec_from_file_location("intro_survival", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    options = script.read_flags([*FLAGS, folder])
    return script.train(options, find_place(), "cpu", lambda step, loss: None)[0]


@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform == "win32", reason="a rank is killed by SIGKILL")
def test_killed_under_torchrun_it_goes_on_as_if_nothing_had_happened(tmp_path):
    call = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    call += ["--max-restarts", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    call += ["--local-addr", "127.0.0.1", str(SCRIPT), *FLAGS, str(tmp_path / "broken")]
    ended = subprocess.run(
        [*call, "--die-at", "5", "--plain"], capture_output=True, text=True, timeout=400
    )
    assert ended.returncode == 0 and "goes on after step 3" in ended.stdout, ended.stderr
    printed = re.findall(r"^(\d+) ([\d.]+)$", ended.stdout, re.M)
    numbers = [int(step) for step, _ in printed]
    assert numbers[-4:] == [4, 5, 6, 7] and numbers[:4] == [0, 1, 2, 3]  # step 5 may be lost
    _, right = launch(train, 2, (str(tmp_path / "whole"),), quiet=True, timeout=200)
    for step, loss in printed:  # float32, losses of about 8
        assert float(loss) == pytest.approx(right[int(step)], abs=1e-5)
