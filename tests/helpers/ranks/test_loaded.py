"""What a rank that runs one line has imported of the lab: what it needs itself, nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# How a rank is started, and how many modules of `helpers` it has imported: as measured. Before
# pictures, homework and the launcher's own side were left out it was 48, 48 and 42.
MEASURED = {"forked": 15, "fresh": 14, "torchrun": 19}
SPARE = 1  # room for one more, so that a third of what it was is the bound
NEVER = ("draw", "trace", "skipped", "grade", "record", "ranks.start", "ranks.pool", "hang.cases")

LAUNCHED = """
from helpers.ranks import launch
def loaded():
    import sys
    return sorted(sys.modules)
print("loaded", *launch(loaded, 1, quiet=True)[0])
"""
ALONE = """
import sys
from helpers.ranks import connect, disconnect, find_place
connect(find_place(), quiet=True)
print("loaded", *sorted(sys.modules))
disconnect()
"""


@pytest.mark.parametrize("how", MEASURED)
def test_a_rank_that_runs_one_line_imports_little(how, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("LAB_FORK", str(int(how == "forked")))
    (tmp_path / "one.py").write_text(ALONE if how == "torchrun" else LAUNCHED)
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2"] * (how == "torchrun")
    command = [sys.executable, *torchrun, str(tmp_path / "one.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("loaded ")]
    assert lines, done.stderr
    ours = [name for name in lines[0].split() if name.partition(".")[0] == "helpers"]
    for name in NEVER:
        assert f"helpers.{name}" not in ours, f"a rank must not import helpers.{name}"
    assert len(ours) <= MEASURED[how] + SPARE, f"{len(ours)} modules: {' '.join(ours)}"
