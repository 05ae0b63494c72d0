"""The sandbox itself: which limits it holds, for whom, and what is shown in it."""

import os
import subprocess
import sys

import pytest

from helpers.grade import sandbox
from helpers.grade.marks import find_regions
from helpers.grade.task import ROOT, load_module

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


def test_all_limits_are_held_and_told(confined):
    found = confined("return number + 1", seconds=20)
    assert found.passed and found.limits.open == [] and found.limits.held["time"] == "20 s"
    assert found.limits.held["network"] == "loopback only" and "user" in found.limits.held
    assert found.as_dict()["limits"]["held"] == found.limits.held


def test_a_user_without_rights_has_a_sandbox_too(monkeypatch, tmp_path):
    """The way of everybody who isn't root, and of root in a container: a namespace of users."""
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    sandbox.isolation.cache_clear()
    try:
        command = sandbox.command(tmp_path)
    finally:
        sandbox.isolation.cache_clear()
    assert "--unshare-user" in command
    answers = str(ROOT / "tasks" / "answers")
    program = f"import os; print(os.getuid(), os.getpid() < 9, os.path.exists({answers!r}))"
    call = [*command, sys.executable, "-c", program]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.stdout.split() == ["1000", "True", "False"], done.stderr


def test_mpirun_starts_ranks_in_the_sandbox(confined, tmp_path):
    mpirun = load_module(ROOT / "TP" / "mpirun.py", "lab_mpirun")
    program = (
        "from mpi4py import MPI\nprint('sum', MPI.COMM_WORLD.allreduce(1 + MPI.COMM_WORLD.rank))"
    )
    (tmp_path / "two.py").write_text(program)
    call = [*sandbox.command(tmp_path), str(mpirun.find_mpirun()), "-n", "2"]
    call += [sys.executable, str(tmp_path / "two.py")]
    environment = os.environ | mpirun.settings()
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=120)
    assert [line for line in done.stdout.splitlines() if "sum" in line] == ["sum 3"] * 2, done


def test_nothing_that_is_shown_of_the_lab_holds_a_solution():
    shared = sorted((ROOT / "tasks").glob("_*.py"))
    assert shared
    for path in [*(ROOT / name for name in sandbox.LAB), *shared]:
        files = [*path.rglob("*")] if path.is_dir() else [path]
        assert any(file.is_file() for file in files) or path.suffix == ".egg-info", path
        for file in files:
            if file.suffix == ".py":
                assert find_regions(file.read_text(encoding="utf-8"), str(file)) == []
