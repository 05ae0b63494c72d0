"""What a rank that runs one line has imported of the lab: what it needs itself, nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

ROOT = Path(__file__).resolve().parents[3]
# How a rank is started, and how many modules of `helpers` it has imported: as measured. Before
# pictures, homework and the launcher's own side were left out it was 48, 48 and 42. What is forked
# has checked mode already: its server has imported it once, for the first operation of all ranks.
MEASURED = {"forked": 20, "fresh": 19, "torchrun": 20}
NEVER = ("draw", "trace", "skipped", "grade", "record")
NEVER += ("ranks.start", "ranks.supervisor", "hang.verdict")

LAUNCHED = """
from helpers.ranks import launch
def loaded():
    import sys
    return [name for name in sys.modules if name.partition(".")[0] == "helpers"]
print("loaded", *launch(loaded, 1, quiet=True)[0])
"""
ALONE = """
import sys
from helpers.ranks import connect, disconnect, find_place
connect(find_place(), quiet=True)
ours = [name for name in sys.modules if name.partition(".")[0] == "helpers"]
print("loaded", *ours)  # briefly: two ranks write to one pipe
disconnect()
"""


@pytest.mark.long_for("fresh")
@pytest.mark.parametrize("how", MEASURED)
def test_a_rank_that_runs_one_line_imports_little(how, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("LAB_FORK", str(int(how == "forked")))
    (tmp_path / "one.py").write_text(ALONE if how == "torchrun" else LAUNCHED)
    other = tmp_path / "work" / "helpers"  # of somebody else, where one launches from
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("")
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2"] * (how == "torchrun")
    command = [sys.executable, *torchrun, str(tmp_path / "one.py")]
    done = subprocess.run(command, cwd=other.parent, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("loaded ")]
    assert lines, done.stderr
    ours = sorted(lines[0].split()[1:])
    for name in NEVER:
        assert f"helpers.{name}" not in ours, f"a rank must not import helpers.{name}"
    assert len(ours) <= MEASURED[how], f"{len(ours)} modules: {' '.join(ours)}"
