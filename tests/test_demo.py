"""The main job: both curves, the floor, the difference, a story, and where the files are."""

import subprocess
import sys
from pathlib import Path

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
    difference = said.split("largest difference in a weight ")[1].split()[0]
    assert float(difference) < 1e-5
    for words in ("floor", "tokens/s", "A story by the trained model", "Perfetto"):
        assert words in said
    assert (tmp_path / "losses.png").stat().st_size > 1000
    assert (tmp_path / "trace.json").stat().st_size > 1000
