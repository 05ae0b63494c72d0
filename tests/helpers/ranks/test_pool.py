"""What is kept ready for the next launch: replaced where it has died, and gone after a rest."""

import multiprocessing.forkserver
import os
import signal
import subprocess
import sys
import time

import pytest

from helpers.ranks import keep_warm, launch, pool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ranks,
    pytest.mark.skipif(sys.platform != "linux", reason="ranks are forked on Linux only"),
]


def server() -> int | None:
    return multiprocessing.forkserver._forkserver._forkserver_pid


def who():
    found = os.environ.get("LEFT_BEHIND"), os.environ.get("SET_LATE")
    os.environ["LEFT_BEHIND"] = "yes"
    return os.getpid(), found


def fails():
    subprocess.Popen(["sleep", "600"])
    raise ValueError("on purpose")


def test_nothing_survives_from_one_launch_to_the_next(monkeypatch):
    (before,) = launch(who, ranks=1, quiet=True)
    monkeypatch.setenv("SET_LATE", "after the server was started")
    (after,) = launch(who, ranks=1, quiet=True)
    assert before[0] != after[0]
    assert after[1] == (None, "after the server was started")


def test_a_server_that_has_died_is_replaced():
    keep_warm(1)
    died = server()
    os.kill(died, signal.SIGKILL)
    os.waitid(os.P_PID, died, os.WEXITED | os.WNOWAIT)
    assert len(launch(who, ranks=2, quiet=True)) == 2
    assert server() not in (None, died)


def test_after_a_rest_nothing_is_left_and_the_next_launch_runs(monkeypatch):
    monkeypatch.setattr(pool, "REST_S", 0.5)
    launch(who, ranks=1, quiet=True)
    rested = server()
    end = time.monotonic() + 60
    while server() is not None and time.monotonic() < end:
        time.sleep(0.1)
    assert server() is None
    with pytest.raises(ProcessLookupError):
        os.kill(rested, 0)
    monkeypatch.undo()
    assert len(launch(who, ranks=1, quiet=True)) == 1


def test_launch_after_launch_nothing_is_left():
    def left() -> tuple[int, int]:
        ended = [int(each.split("_")[1]) for each in os.listdir("/dev/shm") if "torch_" in each]
        return len(os.listdir("/proc/self/fd")), sum(not os.path.isdir(f"/proc/{n}") for n in ended)

    launch(who, ranks=2, quiet=True)
    files, shared = left()
    for _ in range(5):
        launch(who, ranks=2, quiet=True)
        launch(fails, ranks=2, quiet=True, on_error="report")
    assert left() <= (files + 2, shared)


LONG = """
import os, torch.distributed as dist
from helpers.ranks import launch
os.makedirs(os.environ["TMPDIR"])
print(launch(dist.get_world_size, ranks=2, quiet=True))
"""


def test_a_long_folder_for_temporary_files_is_no_obstacle(tmp_path):
    environ = os.environ | {"TMPDIR": str(tmp_path / ("long" * 20))}
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, env=environ)
    assert done.stdout == "[2, 2]\n", done.stderr
