"""How every script of several ranks is started by hand."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from helpers.check.task import ROOT

pytestmark = pytest.mark.ranks

SMALL = "--dmodel 12 --heads 2 --layers 1 --seq-l 16 --steps 4".split()
SHELLS = [
    path for name in "DP PP DP_PP CP EP TP".split() for path in ROOT.glob(f"{name}/**/run.sh")
]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="run.sh is for POSIX; run.bat is its twin")
def test_run_sh_leaves_what_each_rank_printed_and_a_trace(tmp_path):
    folder = shutil.copytree(ROOT / "DP/gradient_aggr", tmp_path / "DP/gradient_aggr")
    (tmp_path / "helpers/ranks").mkdir(parents=True)
    shutil.copy(ROOT / "helpers/ranks/run.sh", tmp_path / "helpers/ranks")
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
def test_run_sh_and_run_bat_start_the_same_script(shell):
    call = r'^cd .* && exec ([./]+)helpers/ranks/run.sh (-n \d --logs \. (\w+\.py)) "\$@"$'
    up, flags, script = re.search(call, shell.read_text(), re.MULTILINE).groups()
    assert (shell.parent / script).is_file() and (shell.parent / up).resolve() == ROOT
    up = up.replace("/", "\\")
    assert shell.with_suffix(".bat").read_text() == (
        f'@cd /d "%~dp0" && {up}helpers\\ranks\\run.bat {flags} %*\n'
    )
