"""Three ranks that average are one device with the whole batch; and how every script is started."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from helpers.grade.task import ROOT
from helpers.ranks import launch
from tests.scripts import alone, on_rank

SMALL = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16", "--steps", "4"]
SGD = [*SMALL, "--optimizer", "sgd", "--lr", "0.5"]
ADAM = [*SMALL, "--optimizer", "adam", "--lr", "0.01"]
GRADIENTS, WEIGHTS = "DP/gradient_aggr/intro_DP_GA.py", "DP/weight_aggr/intro_DP_WA.py"
# Four steps of SGD; only the order of adding three float32 numbers differs.
TOLERANCE = 1e-6
BUILT = (ROOT / ".venv", ROOT / "build")
SHELLS = [path for path in ROOT.glob("*/**/run.sh") if not set(BUILT) & set(path.parents)]


def train(runs):
    """On a rank: the weights after each script's own training."""
    return [on_rank(path, flags)[1] for path, flags in runs]


def one_device(*flags):
    return alone([*flags, "--batch-size", "3", "--like-ranks", "3"])[1]


def largest_difference(a, b):
    assert a.keys() == b.keys()
    return max((a[name] - b[name]).abs().max().item() for name in a)


def test_three_ranks_are_one_device_with_the_whole_batch():
    with_sgd, with_adam = one_device(*SGD), one_device(*ADAM)
    untrained = one_device(*SGD, "--steps", "0")
    assert largest_difference(with_sgd, untrained) > 1e-3  # so that the next lines say something
    ranks = launch(train, 3, ([(GRADIENTS, SGD), (WEIGHTS, SGD), (WEIGHTS, ADAM)],), quiet=True)
    for gradients, weights, weights_with_adam in ranks:
        assert largest_difference(with_sgd, gradients) < TOLERANCE
        assert largest_difference(with_sgd, weights) < TOLERANCE
        assert largest_difference(ranks[0][0], gradients) == 0
        assert largest_difference(ranks[0][1], weights) == 0
        # The mean of Adam's steps is not Adam's step of the mean.
        assert largest_difference(with_adam, weights_with_adam) > 1e-3


@pytest.mark.skipif(os.name != "posix", reason="run.sh is for POSIX; run.bat is its twin")
def test_run_sh_leaves_what_each_rank_printed_and_a_trace(tmp_path):
    folder = tmp_path / "gradient_aggr"
    shutil.copytree(ROOT / "DP" / "gradient_aggr", folder)
    ended = subprocess.run(
        [folder / "run.sh", *SMALL, "--trace", str(tmp_path / "traces")],
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert ended.returncode == 0, ended.stderr
    for rank in range(3):
        lines = (folder / f"out{rank}.txt").read_text().splitlines()
        steps = [line.split("  ")[:2] for line in lines if line[0] != "["]
        assert steps == [[f"rank {rank}", f"step {step}"] for step in range(4)]
    assert len(list((tmp_path / "traces").glob("rank*.json"))) == 3


@pytest.mark.parametrize("shell", SHELLS, ids=lambda path: path.parent.name)
def test_every_run_sh_and_run_bat_differ_in_the_script_and_its_ranks_alone(shell):
    def lines(path):
        return [line for line in path.read_text().splitlines() if not line.startswith("#")]

    *checks, call = lines(shell)
    assert checks == lines(ROOT / "DP/gradient_aggr/run.sh")[:-1]
    ranks, script = re.fullmatch(
        r'exec "\$\{PYTHON:-python\}" -m helpers\.ranks -n (\d) --logs \. (\w+\.py) "\$@"', call
    ).groups()
    assert (shell.parent / script).is_file()
    bat = shell.with_suffix(".bat").read_text()
    assert f"python -m helpers.ranks -n {ranks} --logs . {script} %*" in bat
