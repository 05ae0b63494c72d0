"""`cd puzzles && python part1.py` as a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.patient]

ROOT = Path(__file__).resolve().parents[2]
PUZZLES = ROOT / "puzzles"


def python(*arguments, cwd):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment.pop("PUZZLES_PROFILE", None)
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=100,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("part", "flags", "says"),
    [
        (0, ["--profile", "classic"], "8 ranks, 36 layers, 32 samples, classic"),
        (1, ["--profile", "classic"], "0.184362 s, MFU 19.08 %"),
        (2, ["--profile", "classic"], "2.723224 s, MFU 20.67 %"),
        (3, [], "16 ranks, 32 layers, 2048 samples, bytes"),
        (4, ["--profile", "classic"], "score 5 of 5: 5 for the MFU, 5 for the memory"),
    ],
)
def test_part(part, flags, says, tmp_path):
    done = python(PUZZLES / f"part{part}.py", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    trace = json.loads((tmp_path / "debug_traces" / f"part{part}.json").read_text())
    assert trace["traceEvents"]


@pytest.mark.parametrize(
    ("script", "flags", "says"),
    [
        ("part2.py", [], "\n  at part2.py, line "),
        (
            "part0.py",
            ["--ranks", "5"],
            "error: a batch of 32 samples cannot be divided into 5 ranks",
        ),
        ("part1.py", ["--profile", "fast"], "error: there is no profile 'fast'"),
        ("eight.py", ["nine"], "there is no puzzle 'nine'; they are: basic, accumulation, ddp"),
    ],
)
def test_wrong_flags_end_with_a_sentence_and_one_sentence(script, flags, says, tmp_path):
    done = python(PUZZLES / script, *flags, cwd=tmp_path)
    assert done.returncode == 1 and says in done.stderr and "error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_eight(tmp_path):
    done = python(PUZZLES / "eight.py", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.count("target") == 16
    assert "ddp: 5.6 steps (target 5.6)" in done.stdout
    assert "(target 1,835,008), a star" in done.stdout
    assert len(list((tmp_path / "debug_traces").glob("*.json"))) == 8
