"""The scripts of one device print losses, leave a trace, and save the models that ship."""

import json
import runpy
import sys

import pytest

from helpers.check.task import ROOT

SMALL = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16", "--steps", "3"]


def test_it_prints_the_step_and_the_loss_and_leaves_a_trace(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["intro.py", *SMALL, "--trace", str(tmp_path / "trace.json")])
    runpy.run_path(str(ROOT / "primer/intro.py"), run_name="__main__")
    said = capsys.readouterr().out.splitlines()
    lines = [line.split() for line in said if not line.startswith("[")]
    assert [line[0] for line in lines] == ["0", "1", "2"]
    assert 6.8 < float(lines[0][1]) < 7.4  # near ln 1200 = 7.09
    assert (tmp_path / "trace.json").exists()


def test_the_models_that_ship_are_trained_by_a_command(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train_models.py", *SMALL, "--out", str(tmp_path)])
    runpy.run_path(str(ROOT / "primer/train_models.py"), run_name="__main__")
    table = json.loads((tmp_path / "models.json").read_text())
    assert [table[name]["steps"] for name in ("early", "middle", "best")] == [1, 2, 3]
    assert table["early"]["loss"] == pytest.approx(7.09, abs=0.1)
    assert table["early"]["bits_per_byte"] == pytest.approx(2.98, abs=0.1)  # 3.4 bytes a token
    assert table["best"]["tokens"] == 3 * 4 * 16 and (tmp_path / "best.safetensors").exists()
