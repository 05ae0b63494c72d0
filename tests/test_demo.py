"""The main job: both curves, the floor, the difference, a story, and where the files are."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_the_demo_tells_the_whole_story(tmp_path):
    ended = subprocess.run(
        [sys.executable, "demo.py", "--steps", "4", "--batch", "3", "--optimizer", "sgd"]
        + ["--out", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout
    rows = [line.split() for line in said.splitlines() if line.split()[:1] in (["1"], ["4"])]
    assert [row[0] for row in rows] == ["1", "4"]
    for row in rows:
        assert abs(float(row[1]) - float(row[2])) < 1e-3
    change, difference = (
        float(said.split(f"largest {what}")[1].split()[0])
        for what in ("change of a weight", "difference")
    )
    assert difference < 1e-4 * change and "the same step" in said
    parts = "floor", "tokens/s", "A story by the trained model", "complete sentences", "Perfetto"
    for words in parts:
        assert words in said
    assert (tmp_path / "losses.png").stat().st_size > 1000
    assert (tmp_path / "trace.json").stat().st_size > 1000


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("demo", ROOT / "demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("factor, words", [(1, "the same step"), (3, "NOT the same step")])
def test_a_sum_in_place_of_a_mean_is_another_step(demo, factor, words, capsys):
    """A rank alone stands for three: its gradients times `factor` are what a sum would give."""
    flags = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16", "--device", "cpu"]
    options = demo.intro.read_flags([*flags, "--batch-size", "3", "--like-ranks", "3"])
    step = demo.one_step(options)
    step.lr *= factor  # for SGD the same as gradients that are `factor` times as large
    ranks = demo.intro.train(step, say=demo.Silence())[1].state_dict()
    demo.print_one_step(*demo.compare_one_step(options, ranks))
    assert words in capsys.readouterr().out
