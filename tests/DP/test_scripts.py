"""Each script's run.sh and run.bat start the same ranks, and leave outputs and traces."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from helpers.check.task import ROOT

pytestmark = pytest.mark.ranks

SMALL = "--dmodel 12 --heads 2 --layers 1 --seq-l 16 --steps 4".split()
RANKS = {"primer": 1, "DP_PP": 6} | dict.fromkeys(
    ("DP/gradient_aggr", "DP/weight_aggr", "PP/naive", "PP/microbatches", "PP/1F1B"), 3
)
SHELLS = [
    path
    for name in ("DP", "PP", "DP_PP", "CP", "EP", "TP")
    for path in (ROOT / name).rglob("run.sh")
]
FOLDERS = {*RANKS, *(path.parent.relative_to(ROOT).as_posix() for path in SHELLS)}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="run.sh is for POSIX; run.bat is its twin")
def test_run_sh_leaves_what_each_rank_printed_and_a_trace(tmp_path):
    folder = shutil.copytree(ROOT / "DP/gradient_aggr", tmp_path / "DP/gradient_aggr")
    (tmp_path / "helpers/ranks").mkdir(parents=True)
    shutil.copy(ROOT / "helpers/ranks/run.sh", tmp_path / "helpers/ranks")
    command = [folder / "run.sh", *SMALL, "--trace", str(tmp_path / "traces")]
    how = {"env": os.environ | {"PYTHON": sys.executable}, "capture_output": True, "text": True}
    ended = subprocess.run(command, timeout=400, **how)
    assert ended.returncode == 0, ended.stderr
    for rank in range(3):
        lines = (folder / f"out{rank}.txt").read_text().splitlines()
        steps = [line.split("  ")[:2] for line in lines if line[0] != "["]
        assert steps == [[f"rank {rank}", f"step {step}"] for step in range(4)]
    assert len(list((tmp_path / "traces").glob("rank*.json"))) == 3


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_run_sh_and_run_bat_start_the_same_script(folder):
    shell = ROOT / folder / "run.sh"
    call = r'^cd .* && exec ([./]+)helpers/ranks/run.sh (-n (\d) --logs \. (\w+\.py)) "\$@"$'
    up, flags, ranks, script = re.search(call, shell.read_text(), re.MULTILINE).groups()
    assert (shell.parent / script).is_file() and (shell.parent / up).resolve() == ROOT
    assert int(ranks) == RANKS.get(folder, int(ranks)) and os.access(shell, os.X_OK)
    up = up.replace("/", "\\")
    assert shell.with_suffix(".bat").read_text() == (
        f'@cd /d "%~dp0" && {up}helpers\\ranks\\run.bat {flags} %*\n'
    )
