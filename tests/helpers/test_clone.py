"""The package as an installer puts it there: it says so where lessons or tasks are asked for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

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
