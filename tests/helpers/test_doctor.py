"""`doctor()`: a machine in a line, and a cure for each thing that is missing."""

import os
import subprocess
import sys
import venv
from types import SimpleNamespace

import pytest

from helpers import doctor as page
from helpers.clone import ROOT
from helpers.doctor import examine
from helpers.ranks import Failure, LaunchReport

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


def test_a_machine_on_which_all_is_well_is_told_in_a_line():
    done = subprocess.run([sys.executable, "-m", "helpers.doctor"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith("Every lesson runs on this machine: ")
    assert f"Python {sys.version_info[0]}.{sys.version_info[1]}" in first and "torch 2." in first


def test_without_torch_it_says_what_to_type(tmp_path):
    venv.create(tmp_path)  # with no package at all
    python = tmp_path / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ask = [python, "-m", "helpers.doctor"]
    done = subprocess.run(ask, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == ""
    assert "Ranks can't be started (No module named '" in done.stdout
    assert "run: python3 tools/install.py" in done.stdout


def test_what_is_missing_has_its_cure(monkeypatch):
    said = "distributed-ml-lab 0.1.0 requires torch==2.13.0, which is not installed.\n"
    answer = SimpleNamespace(stdout=said)
    monkeypatch.setattr(page.subprocess, "run", lambda *_, **__: answer)
    report = LaunchReport([], Failure(1, "rank 1 cannot be reached"), [], 1.0)
    monkeypatch.setattr("helpers.ranks.launch", lambda *_, **__: report)
    well, told = examine()
    assert not well and told.startswith("Something is missing.")
    assert "requires torch==2.13.0, which is not installed; run: python3 tools/install.py" in told
    assert "can't average a tensor over 127.0.0.1: " in told and "rank 1 cannot be reached" in told
