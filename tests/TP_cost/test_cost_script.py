"""The scripts as a student runs them, and the digits of a LLaMA and of a budget."""

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


def test_memory_is_the_sum_of_its_items_and_both_flags_may_be_given():
    flags = "--model_config llama_7b_config.json --training_budget 1.23e22".split()
    lines = run("model_training_cost_analysis.py", *flags).splitlines()
    items = [line.rsplit(maxsplit=2) for line in lines if line.startswith("    ")]
    megabytes = sum(float(size) for _, size, unit in items if unit == "MB")
    assert lines[:2] == ["Number of parameters: 6738415616", "Number of TFLOPs: 0.8976"]
    assert lines[2] == "Peak memory cost: 1.0255 GBs"
    assert lines[4].startswith("parameters: rotary") and "batch 1, sequence 2048" in lines[6]
    assert lines[-4:-2] == ["Optimal N: 8.177e+09", "Optimal D: 2.507e+11"]
    assert megabytes / 1e3 == pytest.approx(1.0255, abs=0.001)
    assert lines[-1].startswith("loss 2.066, 30.7 tokens a parameter")


def test_the_functions_return_what_is_printed():
    cost = load_module(FOLDER / "model_training_cost_analysis.py", "cost")
    found = cost.model_training_cost_analysis(FOLDER / "llama_7b_config.json")
    assert "{} {:.4f} {:.4f}".format(*found) == "6738415616 0.8976 1.0255"
    n, d = cost.get_optimal_N_D(1.23e22)
    assert f"{n:.3e} {d:.3e} {6 * n * d:.10e}" == "8.177e+09 2.507e+11 1.2300000000e+22"


def test_a_layout_is_as_fast_as_the_best_that_a_search_finds():
    choose_layout = load_module(FOLDER / "choose_layout.py", "choose_layout").choose_layout
    model, machine = gpt(8192, 48, 64), preset("A100")
    best = next(e for e in search(model, machine, 64, 128) if e.layout.chunks == 1)
    done = estimate(model, choose_layout(model, machine, 64, 128), machine, gpus=64)
    assert done.fits and done.seconds <= 1.001 * best.seconds
    assert choose_layout(gpt(12288, 96, 96), machine, 8, 8) is None
    flags = "--model_config llama_7b_config.json --gpus 16".split()
    assert "on A100" in run("choose_layout.py", *flags)
