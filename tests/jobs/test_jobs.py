"""Each job script starts its ranks, for real or below a stand-in with the launcher's variables.

There is no Slurm and no PALS here: small programs of their names stand in for them.
"""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.check.task import load_module
from helpers.network import Link, TwoHosts, why_not
from helpers.ranks.environment import free_port

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("SLURM_", "PALS_", "PMI_", "OMPI_"))
} | {"PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
WINDOWS = pytest.mark.skipif(sys.platform == "win32", reason="the job scripts are for bash")
pytestmark = [pytest.mark.slow, pytest.mark.ranks, WINDOWS]


def start(job: str, *flags: str, popen=subprocess.Popen, **variables: str) -> subprocess.Popen:
    command, pipe = [str(ROOT / "jobs" / job), *flags], subprocess.PIPE
    return popen(command, env=ENVIRONMENT | variables, stdout=pipe, stderr=pipe, text=True)


def finish(process: subprocess.Popen) -> str:
    """What it printed; it must have ended well."""
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, out + err
    return out


def test_every_script_names_scripts_that_are_there():
    for job in (ROOT / "jobs").glob("*.sh"):
        named = set(re.findall(r"[\w/]+\.py\b", job.read_text(encoding="utf-8")))
        assert "jobs/hello.py" in named and all((ROOT / name).is_file() for name in named), job


# --- started for real ----------------------------------------------------------------------------


def test_torchrun_on_one_machine():
    out = finish(start("torchrun_one_node.sh", "jobs/hello.py", "--only-say", RANKS="2"))
    for rank in (0, 1):
        assert f"rank {rank} of 2: number {rank} of 2 on " in out and "says torchrun" in out


def test_torchrun_on_two_machines():
    """Two hosts with addresses of their own; where the system has none, two on this one."""
    link, flags = Link(200), ("jobs/hello.py", "--megabytes", "2", "--repeat", "2")
    nodes = ({"NODE": "0"}, {"NODE": "1"})
    said = on_two("torchrun_several_nodes.sh", flags, nodes, link)
    for rank in (0, 1):
        assert f"rank {rank} of 2: number 0 of 1 on " in said[rank]
    if not why_not():
        for rank in (0, 1):
            assert f"on node{rank}, says torchrun; rank 0 is at 10.77.0.1" in said[rank]
        # No more goes through the cable, however fast or slow this machine is; 64 kB are a burst.
        rate = float(re.search(r"(\d+) megabits a second from each rank", said[0]).group(1))
        assert rate < 1.1 * link.megabits


@pytest.mark.long
def test_torchrun_starts_again_what_has_failed():
    """A rank on one of two hosts; where the system has none, one of two ranks on this one."""
    flags = ("jobs/hello.py", "--fail", "1", "--megabytes", "0.1")
    if why_not():
        said = finish(start("torchrun_elastic.sh", *flags))
    else:
        said = "".join(on_two("torchrun_elastic.sh", flags, ({"NODES": "2", "RANKS": "1"},) * 2))
    for rank in (0, 1):  # before the failure, and after it; machines may change their numbers
        assert len(re.findall(rf"rank {rank} of 2: number . of . on \S+, says torchrun", said)) == 2
    assert said.count("all-reduce of 0.1 MB") == 1


def on_two(job: str, flags, nodes, link: Link | None = None) -> list[str]:
    """What a job script printed on each of two hosts, each with variables of its own."""
    if why_not():
        meet = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        return [finish(p) for p in [start(job, *flags, **meet, **node) for node in nodes]]
    with TwoHosts() as hosts:
        if link:
            hosts.slow(link)
        address, started = hosts.addresses[0], []
        for host, node in enumerate(nodes):
            there = functools.partial(hosts.start, host)
            started.append(start(job, *flags, popen=there, MASTER_ADDR=address, **node))
        return [finish(process) for process in started]


def test_mpi():
    mpirun = load_module(ROOT / "TP/mpirun.py", "jobs_mpirun")
    as_root = {k: v for k, v in mpirun.settings().items() if "ALLOW" in k}
    settings = {**as_root, "MPIRUN": str(mpirun.find_mpirun())}
    out = finish(start("mpi.sh", "jobs/hello.py", RANKS="3", **settings))
    for rank in range(3):
        assert f"rank {rank} of 3: number {rank} of 3 on " in out
    assert out.count("says mpi4py; rank 0 is at localhost") == 3
    assert "all-reduce of 1 MB:" in out


# --- below a launcher that is not here -----------------------------------------------------------


# It leaves the variables of four ranks on two nodes, and checks what a real one was asked for.
LAUNCHER = """#!{python}
import os, subprocess, sys

ranks, each = 4, 2
at = sys.argv.index(os.environ["PYTHON"])
assert sys.argv[1:at] in (["--kill-on-bad-exit=1"], ["-n", "4", "--ppn", "2"]), sys.argv
for rank in (1, 2):  # the second of the first node, and the first of the second
    node, local = divmod(rank, each)
    facts = {facts}
    environment = os.environ | {{name: str(value) for name, value in facts.items()}}
    if code := subprocess.run(sys.argv[at:], env=environment).returncode:
        sys.exit(code)
"""
SRUN = """{
        "SLURM_PROCID": rank, "SLURM_NTASKS": ranks, "SLURM_STEP_NUM_TASKS": ranks,
        "SLURM_LOCALID": local, "SLURM_NODEID": node, "SLURM_STEP_ID": 0, "SLURM_JOB_ID": 7,
        "SLURM_STEP_TASKS_PER_NODE": "2(x2)", "SLURM_STEP_NODELIST": "node[07,09]"}"""
PALS = """{
        "PALS_RANKID": rank, "PALS_LOCAL_RANKID": local, "PALS_NODEID": node,
        "PMI_RANK": rank, "PMI_SIZE": ranks, "PMI_LOCAL_RANK": local, "PMI_LOCAL_SIZE": each}"""


@pytest.mark.parametrize(
    ("job", "name", "facts", "says", "first"),
    [
        ("slurm.sh", "srun", SRUN, "Slurm", "node07"),
        ("pbs_pals.sh", "mpiexec", PALS, "PALS", "x1000"),
    ],
)
def test_below_a_launcher_that_is_not_here(job, name, facts, says, first, tmp_path):
    (tmp_path / "nodes").write_text("x1000\nx1001\n")
    stand_in = tmp_path / name
    stand_in.write_text(LAUNCHER.format(python=sys.executable, facts=facts))
    stand_in.chmod(0o755)
    job_facts = {"SLURM_SUBMIT_DIR": str(ROOT), "PBS_O_WORKDIR": str(ROOT), "RANKS": "2"}
    job_facts |= {"PBS_NODEFILE": str(tmp_path / "nodes"), "SCRIPT": "jobs/hello.py --only-say"}
    job_facts["PATH"] = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    out = finish(start(job, "jobs/hello.py", "--only-say", **job_facts))
    assert re.sub(r" on \S+,", " on HOST,", out).splitlines() == [
        f"rank {rank} of 4: number {rank % 2} of 2 on HOST, says {says}; rank 0 is at {first}"
        for rank in (1, 2)
    ]
