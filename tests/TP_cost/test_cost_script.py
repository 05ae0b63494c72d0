"""The script as a student runs it, and its functions as a grader calls them."""

import json
import subprocess
import sys

import pytest

from helpers.check.task import ROOT, load_module
from helpers.cluster import estimate, preset, search
from helpers.cost import gpt, read_config

FOLDER = ROOT / "TP"
SCRIPT = FOLDER / "model_training_cost_analysis.py"
CHOOSE = FOLDER / "choose_layout.py"
CONFIG = FOLDER / "llama_7b_config.json"
script = load_module(SCRIPT, "cost_script")


def run(*arguments, script=SCRIPT):
    """What a script printed, and its errors."""
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_llama_7b():
    count, tflops, gigabytes = script.model_training_cost_analysis(str(CONFIG))
    assert count == 6_738_415_616
    assert tflops == pytest.approx(0.8976, abs=5e-5)
    assert gigabytes == pytest.approx(0.404766720 + 5 * 0.016777216 + 2 * 0.268435456)


def test_it_prints_the_lines_that_graders_look_for():
    code, out, err = run("--model_config", "llama_7b_config.json")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Number of parameters: 6738415616"
    assert lines[1] == "Number of TFLOPs: 0.8976"
    assert lines[2] == "Peak memory cost: 1.0255 GBs"
    for convention in ("rotary", "sequence 2048", "2mnk", "2 bytes a value", "scores"):
        assert convention in out
    items = [line.rsplit(maxsplit=2) for line in lines if line.startswith("    ")]
    megabytes = sum(float(size) for _, size, unit in items if unit == "MB")
    assert megabytes / 1e3 == pytest.approx(1.0255, abs=0.001)


def test_the_budget_of_the_exercise(tmp_path):
    n, d = script.get_optimal_N_D(1.23e22)
    assert f"{n:.2e} {d:.2e}" == "8.18e+09 2.51e+11"
    code, out, _ = run("--training_budget", "1.23e22", "--curve", str(tmp_path / "c.svg"))
    assert code == 0
    assert out.startswith("Optimal N: 8.177e+09\nOptimal D: 2.507e+11\n")
    assert "loss 2.066, 30.7 tokens a parameter" in out
    assert (tmp_path / "c.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_layout_that_fits():
    choose_layout = load_module(CHOOSE, "choose_layout").choose_layout
    model = gpt(8192, 48, 64)
    layout = choose_layout(model, preset("A100"), 64, 128)
    best = next(e for e in search(model, preset("A100"), 64, 128) if e.layout.chunks == 1)
    done = estimate(model, layout, preset("A100"), gpus=64)
    assert done.fits and done.seconds <= 1.001 * best.seconds
    assert choose_layout(gpt(12288, 96, 96), preset("A100"), 8, 8) is None
    code, out, _ = run("--model_config", CONFIG.name, "--gpus", "16", script=CHOOSE)
    assert code == 0 and "on A100" in out


def test_the_config_is_llama_7bs():
    fields = json.loads(CONFIG.read_text(encoding="utf-8"))
    wanted = dict(hidden_size=4096, intermediate_size=11008, num_attention_heads=32)
    wanted |= dict(num_hidden_layers=32, vocab_size=32000, max_position_embeddings=2048)
    assert wanted.items() <= fields.items() and fields["tie_word_embeddings"] is False
    assert read_config(CONFIG).kv_heads == 32
