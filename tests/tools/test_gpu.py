"""`make gpu` on a machine without one: the processor stands in for the GPU, and gloo for NCCL."""

import re
from pathlib import Path

import pytest

import gpu

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).resolve().parents[2]
LONG = "CP DP/ddp DP/zero DP_PP/ EP PP/1F1B PP/microbatches PP/schedules TP".split()
# A script whose second run, that on the GPU, is off by 1 %: in its loss, or in its gradient alone.
PLANTED = """
import argparse
from pathlib import Path
import torch

def read_flags(arguments):
    return argparse.Namespace()

def train(options, place, device, say):
    net = torch.nn.Linear(2, 1, bias=False, device=device)
    torch.nn.init.ones_(net.weight)
    net(torch.ones(1, 2, device=device)).sum().backward()
    seen = Path(__file__).with_name("seen")
    off = 1.01 if seen.exists() else 1.0
    seen.touch()
    loss = 2.0 * ({loss})
    net.weight.grad *= {gradient}
    return [loss], net, None
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "FOLDER", tmp_path)
    return tmp_path


def test_every_script_that_trains_on_ranks_is_among_them():
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.glob("*/**/*.py")
        if path.relative_to(ROOT).parts[0] not in (".venv", "build", "tests", "tools", "helpers")
        and re.search(r"^    run_as_rank\(.*\btrain\b", path.read_text(encoding="utf-8"), re.M)
    }
    assert found == set(gpu.SCRIPTS)


@pytest.mark.slow
@pytest.mark.long_for(*LONG)
@pytest.mark.parametrize("path", [gpu.ONE, *gpu.SCRIPTS])
def test_each_script_is_itself_on_the_same_device(path):
    name, right, said = gpu.beside_the_cpu(path, gpu.SCRIPTS.get(path, {1: ""}), 2, "gloo")
    ranks = "1 rank" if path == gpu.ONE else "2 ranks"
    wanted = f"{ranks}: losses 0.0e+00, gradients 0.0e+00 apart"
    assert (name, right, said) == (path, True, wanted)


@pytest.mark.parametrize(
    ("loss", "gradient", "right"), [("1", "1", True), ("off", "1", False), ("1", "off", False)]
)
def test_what_is_off_by_a_percent_is_wrong(loss, gradient, right, folder):
    script = folder / "planted.py"
    script.write_text(PLANTED.format(loss=loss, gradient=gradient))
    _, found, said = gpu.beside_the_cpu(str(script), {1: ""}, 1, "gloo")
    assert found == right
    assert said.count("1.0e-02") == (not right)
