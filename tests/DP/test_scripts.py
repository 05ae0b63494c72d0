"""How every script of several ranks is started."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from helpers.check.task import ROOT

pytestmark = pytest.mark.ranks

SMALL = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16", "--steps", "4"]
BUILT = (ROOT / ".venv", ROOT / "build")
SHELLS = [path for path in ROOT.glob("*/**/run.sh") if not set(BUILT) & set(path.parents)]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="run.sh is for POSIX; run.bat is its twin")
def test_run_sh_leaves_what_each_rank_printed_and_a_trace(tmp_path):
    folder = tmp_path / "gradient_aggr"
    shutil.copytree(ROOT / "DP" / "gradient_aggr", folder)
    ended = subprocess.run(
        [folder / "run.sh", *SMALL, "--trace", str(tmp_path / "traces")],
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert ended.returncode == 0, ended.stderr
    for rank in range(3):
        lines = (folder / f"out{rank}.txt").read_text().splitlines()
        steps = [line.split("  ")[:2] for line in lines if line[0] != "["]
        assert steps == [[f"rank {rank}", f"step {step}"] for step in range(4)]
    assert len(list((tmp_path / "traces").glob("rank*.json"))) == 3


@pytest.mark.parametrize("shell", SHELLS, ids=lambda path: path.parent.name)
def test_every_run_sh_and_run_bat_differ_in_the_script_and_its_ranks_alone(shell):
    def lines(path):
        return [line for line in path.read_text().splitlines() if not line.startswith("#")]

    *checks, call = lines(shell)
    assert checks == lines(ROOT / "DP/gradient_aggr/run.sh")[:-1]
    ranks, script = re.fullmatch(
        r'exec "\$\{PYTHON:-python\}" -m helpers\.ranks -n (\d) --logs \. (\w+\.py) "\$@"', call
    ).groups()
    assert (shell.parent / script).is_file()
    bat = shell.with_suffix(".bat").read_text()
    assert f"python -m helpers.ranks -n {ranks} --logs . {script} %*" in bat
