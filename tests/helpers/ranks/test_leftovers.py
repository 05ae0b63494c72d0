"""Launch after launch, nothing is left: no process, no port, no file, no growing memory.

Each program once here, a hundred launches in `make stress` (LAB_REPEAT).
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import keep_warm, launch

psutil = pytest.importorskip("psutil")
REPEAT = int(os.environ.get("LAB_REPEAT", 5))
pytestmark = [
    pytest.mark.ranks,
    pytest.mark.stress,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="counts what Linux shows in /proc"),
]


def family() -> list[psutil.Process]:
    """This process and all below it."""
    me = psutil.Process()
    return [me, *(each for each in me.children(True) if each.status() != psutil.STATUS_ZOMBIE)]


def listening() -> int:
    """How many sockets of this process, and of those below it, wait for calls."""
    found = [c for each in family() for c in each.net_connections(kind="inet")]
    return sum(c.status == "LISTEN" for c in found)


def memory() -> int:
    """Bytes of this process that lie in memory, without those of files, which come and go."""
    found = psutil.Process().memory_info()
    return found.rss - found.shared


def shared_memory() -> set[str]:
    """The files of torch in shared memory whose process, which their name tells, has ended."""
    found = set()
    for name in os.listdir("/dev/shm"):
        library, _, rest = name.partition("_")
        if library in ("torch", "gloo") and not Path("/proc", rest.partition("_")[0]).is_dir():
            found.add(name)
    return found


def works():
    x = torch.ones(1000)
    dist.all_reduce(x)
    return x[0].item()


def raises():
    raise ValueError("on purpose")


def dies():
    if dist.get_rank() == 1:
        os._exit(3)
    dist.barrier()


def hangs():
    dist.recv(torch.ones(1), 1 - dist.get_rank())


def starts_children():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])


@pytest.mark.timeout(900 + 5 * REPEAT)
def test_nothing_is_left_behind(monkeypatch, tmp_path):
    from helpers.ranks import supervisor

    keep_warm(0)  # ranks that start from now on keep their files in a folder of their own
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    keep_warm(2)
    monkeypatch.setattr(supervisor, "STALL_S", 0.3)
    monkeypatch.setattr(supervisor, "ASK_S", 0.1)
    programs = (works, raises, dies, hangs, starts_children)
    for program in programs:  # what is made once is made now
        launch(program, 2, timeout=20, on_error="report", quiet=True)
    time.sleep(1)
    shared = shared_memory()
    before = len(family()), listening(), len(os.listdir("/proc/self/fd"))
    heap = memory()
    for number in range(REPEAT):
        program = programs[number % len(programs)]
        report = launch(program, 2, timeout=20, on_error="report", quiet=True)
        assert report.ok == (program in (works, starts_children)), f"{number}: {report}"
    time.sleep(0.5)
    after = len(family()), listening(), len(os.listdir("/proc/self/fd"))
    assert after[0] <= before[0], "processes"
    assert after[1] <= before[1], "ports"
    assert after[2] <= before[2] + 2, "open files"
    files = [path.name for path in tmp_path.iterdir() if "torchinductor" not in path.name]
    assert not files, "files"  # (torch itself makes that folder when its compiler is imported)
    end = time.monotonic() + 30  # others may leave a file for a moment, too: torch removes it
    while shared_memory() - shared and time.monotonic() < end:
        time.sleep(0.2)
    assert not shared_memory() - shared, "shared memory"
    assert memory() - heap < 20e6 + 1e5 * REPEAT, "memory"
    keep_warm(4)  # as tests/conftest.py does
