"""Launch after launch, nothing is left: no process, no port, no file, no growing memory.

Three times here, a hundred times in `make stress` (LAB_REPEAT).
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

REPEAT = int(os.environ.get("LAB_REPEAT", 3))
pytestmark = [
    pytest.mark.ranks,
    pytest.mark.stress,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="counts what Linux shows in /proc"),
]


def processes() -> set[int]:
    """All processes below this one, and those that lost their parent in this session."""
    found, parents = set(), {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if fields[0] != "Z":
            parents[int(status.parent.name)] = int(fields[1])
    for process in parents:
        above = process
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid() and process != os.getpid():
            found.add(process)
    return found


def listening() -> int:
    """How many sockets of this process, and of those below it, wait for calls."""
    waiting = {
        line.split()[9]
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
        if line.split()[3] == "0A"
    }
    held = set()
    for process in {os.getpid(), *processes()}:
        for descriptor in Path(f"/proc/{process}/fd").glob("*"):
            try:
                held.add(os.readlink(descriptor).removeprefix("socket:[").rstrip("]"))
            except OSError:
                pass
    return len(waiting & held)


def memory() -> int:
    """Bytes of this process that lie in memory, without those of files, which come and go."""
    _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


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


def warm_again(count: int) -> None:
    """Wait until the pool has filled up again."""
    end = time.monotonic() + 30
    while len(processes()) < count and time.monotonic() < end:
        time.sleep(0.05)


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
    before = len(processes()), listening(), len(os.listdir("/proc/self/fd"))
    heap = memory()
    for number in range(REPEAT):
        program = programs[number % len(programs)]
        report = launch(program, 2, timeout=20, on_error="report", quiet=True)
        assert report.ok == (program in (works, starts_children)), f"{number}: {report}"
    warm_again(before[0])
    time.sleep(0.5)
    after = len(processes()), listening(), len(os.listdir("/proc/self/fd"))
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
