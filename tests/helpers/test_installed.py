"""An installed lab works among its packages, and says in a sentence what it lacks."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

ROOT = Path(__file__).resolve().parents[2]
SAYS = "this is the installed package, in "
CURE = "lessons and tasks are in a clone of the lab: run the same command at the top of one\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which the lab has been installed."""
    folder, source = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("source")
    for name in ("helpers", "simplellm"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.pyc"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install"]
    apart = ["--no-deps", "--no-build-isolation", "--target", folder]
    subprocess.run([*pip, *apart, source], check=True)
    return folder


def run(installed, folder, *command):
    env = {name: value for name, value in os.environ.items() if name != "LAB_TRACEBACK"}
    env |= {"LAB_PROGRESS": "off", "PYTHONPATH": str(installed)}
    call = [sys.executable, *command]
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("arguments", ["helpers.doctor", "helpers.check DP-1"])
def test_a_program_that_needs_lessons_or_tasks_says_where_they_are(arguments, installed, tmp_path):
    done = run(installed, tmp_path, "-m", *arguments.split())
    assert done.returncode in (1, 2) and done.stdout == ""
    assert SAYS in done.stderr and done.stderr.endswith(CURE) and done.stderr.count("\n") == 1


def test_what_needs_no_clone_runs_and_its_errors_are_one_sentence_too(installed, tmp_path):
    (tmp_path / "empty.py").touch()
    done = run(installed, tmp_path, installed / "bin/lab-ranks", "-n", "1", "empty.py")
    assert done.returncode == 0, done.stderr
    code = "from helpers.plain_errors import plain_errors; from helpers.schedules import gpipe\n"
    (tmp_path / "wrong.py").write_text(f"{code}with plain_errors():\n    gpipe(0, 8)\n")
    done = run(installed, tmp_path, "wrong.py")
    assert done.returncode == 1 and done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


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


BLOCKED = ("torch", "numpy", "matplotlib", "traitlets", "anywidget", "ipywidgets")
CODE = f"""
import importlib, pkgutil, sys
sys.modules |= dict.fromkeys({BLOCKED})
sys.path[:0] = [".", "puzzles"]
from helpers import doctor, ranks, trace, draw, waits, cost, schedules, grid, simulate, search
from helpers import cluster, timeline, play
import cluster
for module in pkgutil.iter_modules(cluster.__path__, "cluster."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from helpers.timeline.packed import packed
from helpers.timeline.sliders import simulated
print(len(packed({{"": simulated({{"latency": 1}}).trace}})["events"]["row"]))
"""


def test_in_a_browser_packages_import_and_sliders_are_answered():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 99
