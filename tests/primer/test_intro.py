"""The script of one device: it learns, and it leaves a trace."""

import runpy
import sys
from pathlib import Path

PRIMER = Path(__file__).resolve().parents[2] / "primer"
SMALL = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16"]


def test_it_prints_the_step_and_the_loss_and_leaves_a_trace(tmp_path, monkeypatch, capsys):
    """As a student runs it from its folder, without another process."""
    monkeypatch.chdir(PRIMER)
    flags = [*SMALL, "--steps", "3", "--trace", str(tmp_path / "trace.json")]
    monkeypatch.setattr(sys, "argv", ["intro.py", *flags])
    runpy.run_path("intro.py", run_name="__main__")
    said = capsys.readouterr().out.splitlines()
    lines = [line.split() for line in said if not line.startswith("[")]
    assert [line[0] for line in lines] == ["0", "1", "2"]
    assert 6.8 < float(lines[0][1]) < 7.4  # near ln 1200 = 7.09
    assert (tmp_path / "trace.json").exists()
