"""The script of one device: it learns, and refuses nonsense in one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

PRIMER = Path(__file__).resolve().parents[2] / "primer"
SMALL = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16"]


def run(*flags: str) -> subprocess.CompletedProcess:
    """Run the script as a student does: from its own folder."""
    return subprocess.run(
        [sys.executable, "intro.py", *flags],
        cwd=PRIMER,
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_it_prints_the_step_and_the_loss_and_leaves_a_trace(tmp_path):
    ended = run(*SMALL, "--steps", "3", "--trace", str(tmp_path / "trace.json"))
    assert ended.returncode == 0, ended.stderr
    lines = [line.split() for line in ended.stdout.splitlines() if not line.startswith("[")]
    assert [line[0] for line in lines] == ["0", "1", "2"]
    assert 8 < float(lines[0][1]) < 9  # near ln 4096 = 8.32
    assert (tmp_path / "trace.json").exists()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--text", "nowhere.txt"], "nowhere.txt"),
        (["--heads", "7"], "7"),
        (["--batch-size", "4", "--like-ranks", "3"], "cannot be divided among 3 ranks"),
        (["--tokenizer", "nowhere.model"], "nowhere.model"),
        (["--optimizer", "sgd", "--lr", "1e30", "--steps", "9"], "the loss became nan at step"),
    ],
)
def test_wrong_input_ends_with_one_sentence(flags, sentence):
    ended = run(*SMALL, *flags)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: ")
    assert sentence in line


@pytest.mark.parametrize(
    "flags", [["--steps", "-1"], ["--batch-size", "0"], ["--lr", "fast"], ["--size", "huge"]]
)
def test_flags_that_make_no_sense(flags):
    ended = run(*flags)
    assert ended.returncode == 2
    assert flags[0] in ended.stderr.splitlines()[-1]
