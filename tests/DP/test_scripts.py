"""Three ranks that average are one device with the whole batch: weights compared, with SGD."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from helpers.ranks import find_place, launch

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16", "--steps", "4"]
SGD = ["--optimizer", "sgd", "--lr", "0.5"]
# Four steps of SGD; only the order of adding three float32 numbers differs.
TOLERANCE = 1e-6


def load(path: str):
    """The script at `path` as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def be_silent(step, loss):
    pass


def weights_of_ranks(path: str, flags: list[str]) -> list[dict[str, torch.Tensor]]:
    """The weights of each of three ranks after the script's own training."""

    def train():
        script = load(path)
        _, net, _ = script.train(script.read_flags(flags), find_place(), "cpu", be_silent)
        return net.state_dict()

    return launch(train, ranks=3, quiet=True)


def weights_of_one_device(flags: list[str]) -> dict[str, torch.Tensor]:
    intro = load("primer/intro.py")
    options = intro.read_flags(
        [*flags, "--batch-size", "3", "--like-ranks", "3", "--device", "cpu"]
    )
    return intro.train(options, be_silent)[1].state_dict()


def largest_difference(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    assert a.keys() == b.keys()
    return max((a[name] - b[name]).abs().max().item() for name in a)


@pytest.mark.parametrize(
    "path", ["DP/gradient_aggr/intro_DP_GA.py", "DP/weight_aggr/intro_DP_WA.py"]
)
def test_three_ranks_are_one_device_with_the_whole_batch(path):
    alone = weights_of_one_device([*SMALL, *SGD])
    untrained = weights_of_one_device([*SMALL, *SGD, "--steps", "0"])
    assert largest_difference(alone, untrained) > 1e-3  # so that the next lines say something
    ranks = weights_of_ranks(path, [*SMALL, *SGD])
    for rank in ranks:
        assert largest_difference(alone, rank) < TOLERANCE
        assert largest_difference(ranks[0], rank) == 0


def test_averaged_weights_are_not_averaged_gradients_with_adam():
    flags = [*SMALL, "--optimizer", "adam", "--lr", "0.01"]
    (weights, *_) = weights_of_ranks("DP/weight_aggr/intro_DP_WA.py", flags)
    assert largest_difference(weights_of_one_device(flags), weights) > 1e-3


@pytest.mark.skipif(os.name != "posix", reason="run.sh is for POSIX; run.bat is its twin")
def test_run_sh_leaves_what_each_rank_printed(tmp_path):
    folder = tmp_path / "gradient_aggr"
    shutil.copytree(ROOT / "DP" / "gradient_aggr", folder)
    ended = subprocess.run(
        [folder / "run.sh", *SMALL],
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ended.returncode == 0, ended.stderr
    for rank in range(3):
        lines = (folder / f"out{rank}.txt").read_text().splitlines()
        steps = [line.split("  ")[:2] for line in lines if line[0] != "["]
        assert steps == [[f"rank {rank}", f"step {step}"] for step in range(4)]


def test_run_bat_says_the_same_as_run_sh():
    for shell in ROOT.glob("*/**/run.sh"):
        if ".venv" in shell.parts or "build" in shell.parts:
            continue
        bat = shell.with_suffix(".bat").read_text()
        call = shell.read_text().split("-m helpers.ranks", 1)[1].split('"$@"')[0]
        assert f"python -m helpers.ranks{call}%*" in bat
