"""The script DP_PP/survival: killed under torchrun, started again, and moved to other layouts."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.checkpoint import steps
from helpers.ranks import find_place, launch

pytestmark = [pytest.mark.long, pytest.mark.ranks]

FOLDER = Path(__file__).resolve().parents[3] / "DP_PP/survival"
SCRIPT = FOLDER / "intro_survival.py"
FLAGS = ["--dmodel", "12", "--heads", "2", "--layers", "2", "--seq-l", "16", "--every", "2"]
FLAGS += ["--micro-batches", "1"]
TOLERANCE = 1e-5  # float32, losses of about 8


def train(folder, *flags):
    """On a rank: the script's losses by step."""
    spec = importlib.util.spec_from_file_location("intro_survival", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    options = script.read_flags([*FLAGS, "--checkpoints", str(folder), *flags])
    losses, began, _ = script.train(options, find_place(), "cpu", lambda step, loss: None)
    return losses, began


def both(whole, broken):
    """On two ranks: twelve steps without a break; and two more after those of torchrun."""
    right, _ = train(whole, "--stages", "2", "--steps", "12")
    return right, train(broken, "--stages", "1", "--steps", "10")


@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform == "win32", reason="a rank is killed by SIGKILL")
def test_killed_under_torchrun_and_moved_to_other_layouts(tmp_path):
    whole, broken = str(tmp_path / "whole"), str(tmp_path / "broken")
    # Eight steps on two ranks, of which one is killed in step 5.
    call = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    call += ["--max-restarts", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    call += ["--local-addr", "127.0.0.1", str(SCRIPT), *FLAGS, "--checkpoints", broken]
    call += ["--stages", "2", "--steps", "8", "--die-at", "5", "--plain"]
    ended = subprocess.run(call, capture_output=True, text=True, timeout=400)
    assert ended.returncode == 0 and "goes on after step 3" in ended.stdout, ended.stderr
    printed = re.findall(r"^(\d+) ([\d.]+)$", ended.stdout, re.M)
    numbers = [int(step) for step, _ in printed]
    assert numbers[-4:] == [4, 5, 6, 7] and numbers[:4] == [0, 1, 2, 3]  # step 5 may be lost
    first, second = launch(both, 2, (whole, broken), quiet=True, timeout=200)
    right = second[0]  # the last rank of the pipeline has the losses
    assert sorted(right) == list(range(12)) and first[0] == {}
    for step, loss in printed:
        assert float(loss) == pytest.approx(right[int(step)], abs=TOLERANCE)
    one = launch(train, 1, (broken, "--stages", "1", "--steps", "12"), quiet=True)
    # Two replicas of the whole model, and then one device.
    for (losses, began), start in ((first[1], 8), (second[1], 8), (one[0], 10)):
        assert began == start
        assert losses == pytest.approx({n: right[n] for n in (start, start + 1)}, abs=TOLERANCE)
    assert steps(broken) == [10, 12]
