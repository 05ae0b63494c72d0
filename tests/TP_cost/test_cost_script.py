"""The scripts as a student runs them, and a function as a grader calls it.

The digits of a LLaMA and of a budget are facts of tests/frozen/test_contracts.py.
"""

import subprocess
import sys

import pytest

from helpers.check.task import ROOT, load_module
from helpers.cluster import estimate, preset, search
from helpers.cost import gpt

FOLDER = ROOT / "TP"


def run(script, *arguments):
    """Return what a script printed."""
    command = [sys.executable, str(FOLDER / script), *arguments]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_prints_the_lines_that_graders_look_for():
    flags = "--model_config llama_7b_config.json --training_budget 1.23e22".split()
    out = run("model_training_cost_analysis.py", *flags)
    lines = out.splitlines()
    assert lines[0] == "Number of parameters: 6738415616"
    assert lines[1] == "Number of TFLOPs: 0.8976"
    assert lines[2] == "Peak memory cost: 1.0255 GBs"
    for convention in ("rotary", "sequence 2048", "2mnk", "2 bytes a value", "scores"):
        assert convention in out
    items = [line.rsplit(maxsplit=2) for line in lines if line.startswith("    ")]
    megabytes = sum(float(size) for _, size, unit in items if unit == "MB")
    assert megabytes / 1e3 == pytest.approx(1.0255, abs=0.001)
    assert "\nOptimal N: 8.177e+09\nOptimal D: 2.507e+11\n" in out
    assert "loss 2.066, 30.7 tokens a parameter" in out


def test_a_layout_that_fits():
    choose_layout = load_module(FOLDER / "choose_layout.py", "choose_layout").choose_layout
    model = gpt(8192, 48, 64)
    layout = choose_layout(model, preset("A100"), 64, 128)
    best = next(e for e in search(model, preset("A100"), 64, 128) if e.layout.chunks == 1)
    done = estimate(model, layout, preset("A100"), gpus=64)
    assert done.fits and done.seconds <= 1.001 * best.seconds
    assert choose_layout(gpt(12288, 96, 96), preset("A100"), 8, 8) is None
    flags = "--model_config llama_7b_config.json --gpus 16".split()
    assert "on A100" in run("choose_layout.py", *flags)
