"""A notebook kernel or a script is interrupted, restarted, killed: ranks and pool go with it."""

import os
import queue
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

SLEEP = """
from helpers.ranks import launch

def sleep():
    import os, subprocess, time
    child = subprocess.Popen(["sleep", "600"])
    print("pid", os.getpid(), child.pid, flush=True)
    time.sleep(600)

launch(sleep, ranks=2)
"""
SUM = """
import torch, torch.distributed as dist

def total():
    x = torch.ones(1)
    dist.all_reduce(x)
    return x.item()

print("sum", launch(total, ranks=2, quiet=True))
"""
POOL = """
import psutil
print("pool", *(child.pid for child in psutil.Process().children(recursive=True)))
"""


class Kernel:
    """A kernel and what its cells print."""

    def __init__(self, folder: Path):
        self.manager = KernelManager(kernel_name="python3")
        if os.name != "nt":  # no port that another program could take before it is used
            self.manager.transport, self.manager.ip = "ipc", str(folder / "kernel")
        self.manager.start_kernel()
        self.connect()

    def connect(self):
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=250)

    def execute(self, code: str) -> None:
        """Send a cell; what `read` gives from now on belongs to it."""
        self.cell = self.client.execute(code)

    def read(self, until) -> tuple[str, str]:
        """What the cell prints, and its error, until `until(text, idle)` holds."""
        text, error = "", ""
        end = time.monotonic() + 250
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != self.cell:
                continue  # such as an answer from the start of the kernel
            content = message["content"]
            text += content.get("text", "") if message["msg_type"] == "stream" else ""
            error += content.get("ename", "")
            if "traceback" in content:
                self.traceback = "\n".join(content["traceback"])
            idle = content.get("execution_state") == "idle"
            if until(text, idle):
                return text, error
        raise AssertionError(f"the kernel did not come to it: {text!r} {error!r}")

    def run(self, code: str) -> tuple[str, str]:
        self.execute(code)
        return self.read(lambda text, idle: idle)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel():
    with tempfile.TemporaryDirectory() as folder:  # a short name: a socket's may not be long
        kernel = Kernel(Path(folder))
        yield kernel
        kernel.close()


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:  # no /proc: the signal has found it
        return os.path.isdir("/proc") is False


def wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + 30
    while any(running(pid) for pid in pids):
        assert time.monotonic() < end, [pid for pid in pids if running(pid)]
        time.sleep(0.02)


def start_sleeping(kernel) -> list[int]:
    kernel.execute(SLEEP)
    text, _ = kernel.read(lambda text, idle: text.count("pid ") == 2 and text.endswith("\n"))
    lines = [line.split()[-2:] for line in text.splitlines() if "pid " in line]
    return [int(pid) for pids in lines for pid in pids]  # of each rank, and of what it has started


def helpers_of(kernel) -> list[int]:
    text, _ = kernel.run(POOL)
    return [int(word) for word in text.split()[1:]]


def test_an_interrupt_ends_the_ranks_and_the_next_cell_runs(kernel):
    pids = start_sleeping(kernel)
    kernel.manager.interrupt_kernel()
    _, error = kernel.read(lambda text, idle: idle)
    assert error == "KeyboardInterrupt"
    for rank in (0, 1):
        assert f"  rank {rank} is at work at line 7 of cell [" in kernel.traceback
    assert "time.sleep(600)" in kernel.traceback and "supervisor" not in kernel.traceback
    wait_until_gone(pids)
    text, error = kernel.run(SUM)
    assert (text, error) == ("sum [2.0, 2.0]\n", "")


def test_a_restart_leaves_nothing(kernel):
    kernel.run(SUM)
    pids = helpers_of(kernel) + start_sleeping(kernel)
    assert len(pids) >= 6
    kernel.manager.restart_kernel(now=True)
    wait_until_gone(pids)
    kernel.client.stop_channels()
    kernel.connect()
    assert kernel.run("from helpers.ranks import launch\n" + SUM) == ("sum [2.0, 2.0]\n", "")


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_no_rank_outlives_a_script_that_is_terminated(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(SLEEP)
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    pids = []
    while len(pids) < 4:
        line = parent.stdout.readline()
        assert line, "the parent ended too early"
        pids += map(int, line.split()[-2:] if "pid" in line else ())
    parent.terminate()
    parent.wait(timeout=90)
    parent.stdout.close()
    wait_until_gone(pids)
