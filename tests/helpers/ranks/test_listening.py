"""Who waits for calls while a launch runs: nobody outside of this machine can reach it."""

import ipaddress
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import launch, run_script
from helpers.ranks.store import is_here, serve_store

from .by_hand import ended

psutil = pytest.importorskip("psutil")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.ranks,
    pytest.mark.skipif(sys.platform == "win32", reason="torch takes no socket there"),
]

# What a rank runs in the middle of its work, when all sockets are open: who listens in its process.
WHO = """
import os, psutil
def who():
    found = psutil.Process().net_connections(kind="inet")
    return [f"{os.getpid()} {c.laddr.ip} {c.laddr.port}" for c in found if c.status == "LISTEN"]
"""

SCRIPTS = {
    "connect": """
        from helpers.ranks import connect, disconnect, find_place
        import sys
        connect(find_place(sys.argv[1] if sys.argv[1:] else None, 2 if sys.argv[1:] else None))
        meet()
        disconnect()
    """,
    "own-group": """
        import os, time
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
        import os
        address = f"tcp://localhost:{os.environ['MASTER_PORT']}"
        rank = int(os.environ["RANK"])
        dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
        meet()
        dist.destroy_process_group()
    """,
}


def as_script(text: str) -> str:
    meet = (
        "import torch, torch.distributed as dist\n"
        "def meet():\n"
        "    x = torch.ones(1)\n"
        "    dist.all_reduce(x)\n"
        "    assert x.item() == 2\n"
        "    dist.new_group([0, 1])\n"
        "    print(*(f'listens {line}\\n' for line in who()), sep='', flush=True)\n"
        "    dist.barrier()\n"
    )
    lines = text.splitlines()
    return WHO + meet + "\n".join(line[8:] for line in lines) + "\n"


def addresses(lines: list[str]) -> list[tuple[str, str]]:
    """(process, address) of each line that `who` has made."""
    return [(line.split()[-3], line.split()[-2]) for line in lines]


def only_the_loopback(lines: list[str]) -> None:
    found = addresses(lines)
    assert found, "nobody listens: the test sees nothing"
    outside = [f for f in found if not ipaddress.ip_address(f[1]).is_loopback]
    assert not outside


def only_two_on_the_loopback(texts: Iterable[str]) -> None:
    said = [line for text in texts for line in text.splitlines() if "listens" in line]
    assert len({process for process, _ in addresses(said)}) == 2
    only_the_loopback(said)


@pytest.mark.parametrize(
    ("name", "checked"), [*((name, True) for name in SCRIPTS), ("own-group", False)]
)
def test_a_script_on_ranks(name, checked, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(as_script(SCRIPTS[name]))
    report = run_script(path, 2, timeout=60, quiet=True, checked=checked)
    assert not report.failure, report.failure
    only_two_on_the_loopback(report.texts)


@pytest.mark.parametrize("checked", [False, True], ids=["unchecked", "checked"])
def test_a_function_and_every_process_of_its_launch(checked):
    """Also this process, the one that keeps interpreters warm, and those that wait for a job."""

    def program():
        import os

        import psutil

        dist.all_reduce(torch.ones(1))
        dist.new_group([0, 1])
        above = psutil.Process().parent()
        family = [psutil.Process(), above, *above.children()]
        while (above := above.parent()) and above.pid != starter:
            family.append(above)
        found = [
            f"{process.pid} {c.laddr.ip} {c.laddr.port}"
            for process in family
            for c in process.net_connections(kind="inet")
            if c.status == "LISTEN"
        ]
        dist.barrier()
        return os.getpid(), found

    starter = os.getpid()
    results = launch(program, 2, timeout=60, quiet=True, checked=checked)
    lines = [line for _, found in results for line in found]
    assert {str(process) for process, _ in results} <= {process for process, _ in addresses(lines)}
    only_the_loopback(lines)


BY_TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "script.py"]


@pytest.mark.parametrize(
    "calls", [[["script.py", "0"], ["script.py", "1"]], [BY_TORCHRUN]], ids=["person", "torchrun"]
)
def test_ranks_that_somebody_else_starts(calls, tmp_path, monkeypatch):
    """torchrun itself listens on every network; its ranks do not."""
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(as_script(SCRIPTS["connect"]))
    processes = ended(*([sys.executable, *call] for call in calls))
    assert not any(process.returncode for process in processes), processes
    only_two_on_the_loopback(process.stdout for process in processes)


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.0.1.1", True),
        ("::1", True),
        ("192.168.1.10", False),
        ("a-name-of-this-machine", False),  # it may lead to the loopback here, and only here
    ],
)
def test_which_addresses_are_the_loopback_on_every_machine(address, here):
    assert is_here(address) is here


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1"])
def test_a_store_is_served_where_its_address_says_and_let_go(address):
    store = serve_store(address)
    port = store.port
    mine = [c for c in psutil.Process().net_connections(kind="inet") if c.laddr.port == port]
    assert {c.laddr.ip for c in mine if c.status == "LISTEN"} == {"127.0.0.1"}
    dist.TCPStore(address, port).set("a", "1")
    assert store.get("a") == b"1"
    with pytest.raises((OSError, dist.DistError)):
        serve_store(address, port)
    del store
    serve_store(address, port)  # its socket is closed with it
