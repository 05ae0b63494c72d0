"""`doctor()`: a machine in a line, and a cure for what is missing."""

import os
import subprocess
import sys
import venv

import pytest

from helpers.clone import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


def examined(python):
    ask = [python, "-m", "helpers.doctor"]
    return subprocess.run(ask, cwd=ROOT, capture_output=True, text=True)


def test_a_machine_on_which_all_is_well_is_told_in_a_line():
    done = examined(sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith("Every lesson runs on this machine: ")
    assert f"Python {sys.version_info[0]}.{sys.version_info[1]}" in first and "torch 2." in first


def test_without_torch_it_says_what_to_type(tmp_path):
    venv.create(tmp_path)  # with no package at all
    done = examined(tmp_path / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    assert done.returncode == 1 and done.stderr == ""
    assert "Ranks can't be started (No module named '" in done.stdout
    assert "run: python3 tools/install.py" in done.stdout
