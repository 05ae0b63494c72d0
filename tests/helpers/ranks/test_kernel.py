"""`%%ranks 3` runs a cell on ranks, and a kernel that is stopped takes its ranks along."""

import os
import re
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.manager import KernelManager

from helpers.ranks import load_ipython_extension
from helpers.ranks.magic import ranks_cell

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

SLEEP = """
from helpers.ranks import launch
def sleep():
    import os, subprocess, time
    child = subprocess.Popen(["sleep", "600"])
    print("pid", os.getpid(), child.pid, flush=True), time.sleep(600)

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

    def run(self, code: str, asleep=None) -> str:
        """Return what a cell shows, and its traceback. asleep: called once SLEEP's ranks are."""
        self.text, waits = "", asleep is not None

        def take(message):
            nonlocal waits
            content = message["content"]
            shown = content.get("text", content.get("data", {}).get("text/html", ""))
            self.text += "\n".join(content.get("traceback", [shown]))
            if waits and len(pids_in(self.text)) == 4:
                waits = False
                asleep()

        self.client.execute_interactive(code, timeout=250, output_hook=take)
        return self.text


def pids_in(text: str) -> list[int]:
    """Return the processes that SLEEP or POOL name: of each rank, and of what it has started."""
    named = re.findall(r"(?:pid|pool) ([\d ]+)\n", text)
    return [int(pid) for pids in named for pid in pids.split()]


@pytest.fixture(scope="module")
def kernel():
    with tempfile.TemporaryDirectory() as folder:  # a short name: a socket's may not be long
        kernel = Kernel(Path(folder))
        yield kernel
        kernel.client.stop_channels()
        kernel.manager.shutdown_kernel(now=True)


def wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + 30
    while left := [each for each in psutil.process_iter(["status"]) if each.pid in pids]:
        if all(each.info["status"] == psutil.STATUS_ZOMBIE for each in left):
            return
        assert time.monotonic() < end, left
        time.sleep(0.02)


def test_an_interrupt_ends_the_ranks_and_the_next_cell_runs(kernel):
    said = kernel.run(SLEEP, kernel.manager.interrupt_kernel)
    assert "KeyboardInterrupt" in said
    for rank in (0, 1):
        assert f"  rank {rank} is at work at line 5 of cell [" in said
    assert "time.sleep(600)" in said and "supervisor" not in said
    wait_until_gone(pids_in(said))
    assert kernel.run(SUM) == "sum [2.0, 2.0]\n"


def test_a_restart_leaves_nothing(kernel):
    def restart():
        kernel.manager.restart_kernel(now=True)
        raise EOFError

    kernel.run(SUM)
    pids = pids_in(kernel.run(POOL))
    with pytest.raises(EOFError):
        kernel.run(SLEEP, restart)
    pids += pids_in(kernel.text)
    assert len(pids) >= 6
    wait_until_gone(pids)
    kernel.client.stop_channels()
    kernel.connect()
    assert kernel.run("from helpers.ranks import launch\n" + SUM) == "sum [2.0, 2.0]\n"


DEADLOCK = """
def deadlock():
    import torch, torch.distributed as dist
    dist.recv(torch.ones(1), 1 - dist.get_rank())

from helpers.ranks import launch
"""


@pytest.mark.parametrize(
    ("call", "words", "pictures"),
    [
        ("launch(deadlock, 2)", "RankFailed: deadlock: ranks 0 and 1 both receive first", 1),
        ("launch(deadlock, 2, on_error='report')", "<pre", 1),
        ("launch(len, 2, ((),), on_error='report')", "<pre", 0),
    ],
)
def test_a_report_is_shown_and_who_waits_for_whom_is_drawn(kernel, call, words, pictures):
    said = kernel.run(DEADLOCK + call)
    assert words in said and said.count('<img alt="Who waits for whom. rank 0 waits') == pictures


@pytest.fixture
def shell():
    shell = InteractiveShell.instance(colors="nocolor")
    load_ipython_extension(shell)
    yield shell
    InteractiveShell.clear_instance()


def test_a_cell_on_two_ranks(shell, capsys):
    shell.run_cell("scale = 10\ndef times(x):\n    return x * scale\n")
    shell.run_cell("%%ranks 2 --out results\nprint('here', rank, world_size)\ntimes(rank + 1)\n")
    assert shell.user_ns["results"] == [10, 20]
    assert "[rank 1] here 1 2" in capsys.readouterr().out


def test_the_failing_line_is_the_line_of_the_cell_and_nothing_else_is_shown(shell, capsys):
    shell.run_cell("%%ranks 1\nx = 1\nif rank == 0:\n    x / 0\n", store_history=True)
    shown = capsys.readouterr().out
    assert "RankFailed: rank 0 failed first at line 4 of cell [1]: ZeroDivisionError" in shown
    assert "x / 0" in shown and "helpers" not in shown


@pytest.mark.parametrize("line", ["x = = 1", "return 3", "print('a"])
def test_a_cell_that_is_not_python_is_shown_as_any_other_cell(shell, capsys, line):
    shell.run_cell(f"y = 1\n{line} # a comment\n", store_history=True)
    plain = capsys.readouterr().out
    assert f"  Cell In[1], line 2\n    {line} #" in plain and "^\nSyntaxError: " in plain
    shell.run_cell(f"%%ranks 2\n{line} # a comment\n", store_history=True)
    assert capsys.readouterr().out == plain.replace("In[1]", "In[2]")
    with pytest.raises(ValueError, match="%%ranks 2 --fast: write %%ranks 3"):
        ranks_cell("2 --fast", "rank", shell)
