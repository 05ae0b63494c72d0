"""Who waits for calls while a launch runs: nobody outside of this machine can reach it."""

import ipaddress
import os
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import launch, run_script

from .by_hand import ended

psutil = pytest.importorskip("psutil")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.ranks,
    pytest.mark.skipif(sys.platform == "win32", reason="torch takes no socket there"),
]

# What a rank runs in the middle of its work, when all sockets are open: who listens in its process.
MEET = """
import os, sys, time, psutil, torch, torch.distributed as dist
from helpers.ranks import connect, disconnect, find_place
def meet():
    x = torch.ones(1)
    dist.all_reduce(x)
    assert x.item() == 2
    dist.new_group([0, 1])
    found = psutil.Process().net_connections(kind="inet")
    here = [c.laddr.ip for c in found if c.status == "LISTEN"]
    print(*(f"listens {os.getpid()} {ip}\\n" for ip in here), sep="", flush=True)
    dist.barrier()
"""
SCRIPTS = {
    "connect": """
        rank = sys.argv[1] if sys.argv[1:] else None
        connect(find_place(rank, rank and 2))
        meet()
        disconnect()
    """,
    "own-group": """
        for number in range(3):
            dist.init_process_group("gloo")
            meet()
            dist.destroy_process_group()
            gone = f"{__file__}.{number}"  # or rank 1 could call the store that is about to end
            if os.environ["RANK"] == "0":
                open(gone, "w").close()
            while not os.path.exists(gone):
                time.sleep(0.01)
    """,
    "own-address": """
        address = f"tcp://localhost:{os.environ['MASTER_PORT']}"
        rank = int(os.environ["RANK"])
        dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
        meet()
        dist.destroy_process_group()
    """,
}


def written(name: str, path: Path) -> Path:
    path.write_text(MEET + textwrap.dedent(SCRIPTS[name]))
    return path


def only_two_on_the_loopback(texts: Iterable[str]) -> None:
    said = [line.split()[-2:] for text in texts for line in text.splitlines() if "listens" in line]
    assert len({process for process, _ in said}) == 2
    assert all(ipaddress.ip_address(address).is_loopback for _, address in said), said


@pytest.mark.parametrize(
    ("name", "checked"), [*((name, True) for name in SCRIPTS), ("own-group", False)]
)
def test_a_script_on_ranks(name, checked, tmp_path):
    script = written(name, tmp_path / "script.py")
    report = run_script(script, 2, timeout=60, quiet=True, checked=checked)
    assert not report.failure, report.failure
    only_two_on_the_loopback(report.texts)


@pytest.mark.parametrize("checked", [False, True], ids=["unchecked", "checked"])
def test_a_function_and_every_process_of_its_launch(checked):
    """Also this process, and the one that ranks are forked from."""

    def program():

        import psutil

        dist.all_reduce(torch.ones(1))
        dist.new_group([0, 1])
        above = psutil.Process().parent()
        family = [psutil.Process(), above, *above.children()]
        while (above := above.parent()) and above.pid != starter:
            family.append(above)
        found = [
            f"listens {process.pid} {c.laddr.ip}"
            for process in family
            for c in process.net_connections(kind="inet")
            if c.status == "LISTEN"
        ]
        dist.barrier()
        return "\n".join(found)

    starter = os.getpid()
    only_two_on_the_loopback(launch(program, 2, timeout=60, quiet=True, checked=checked))


BY_TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "script.py"]


@pytest.mark.parametrize(
    "calls", [[["script.py", "0"], ["script.py", "1"]], [BY_TORCHRUN]], ids=["person", "torchrun"]
)
def test_ranks_that_somebody_else_starts(calls, tmp_path, monkeypatch):
    """torchrun itself listens on every network; its ranks do not."""
    monkeypatch.chdir(tmp_path)
    written("connect", Path("script.py"))
    processes = ended(*([sys.executable, *call] for call in calls))
    assert not any(process.returncode for process in processes), processes
    only_two_on_the_loopback(process.stdout for process in processes)
