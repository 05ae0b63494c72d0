"""Processes that have imported torch and wait for a job, so that a launch starts at once.

On Linux Python's own fork server imports torch once and forks each rank from it, so that a start
costs milliseconds. Elsewhere each rank is a fresh interpreter, and a notebook keeps some ready.
What nobody has used for a minute ends. So does everything with the process that launches: each rank
watches a pipe from there.
"""

import atexit
import multiprocessing.util
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from helpers import private
from helpers.ranks.job import Error
from helpers.ranks.store import listen, loopback_variables

MOST_WARM = 8  # a waiting process that was not forked takes about 200 MB
REST_S = 60.0  # how long what was kept ready waits for the next launch
LONGEST = 60  # characters of a folder for sockets: their addresses may have some 100
ROOT = Path(__file__).resolve().parents[2]  # the folder that contains `helpers`
# The last one freezes what is there, so that it stays shared.
PRELOAD = ("torch.distributed", "torch._dynamo", "helpers.hang.checked", "helpers.ranks.worker")
_lock = threading.RLock()  # two launches may run at once, in two threads
_waiting: list["RankProcess"] = []
_running: set["RankProcess"] = set()
_imports: set[str] = set()  # modules that were asked for besides
_timer: threading.Timer | None = None


def worker_main(*channels) -> None:
    """Be a rank. Here, so that a launcher which starts one needn't import torch."""
    from helpers.ranks.worker import main

    main(*channels)


class RankProcess:
    """One rank, seen from its launcher: a process, its two channels, and what is known of it.

    number: its rank, once it has a job. running: whether the job itself has begun.
    status: of its exit, once it has ended.
    """

    def __init__(self) -> None:
        self.number, self.running = -1, False
        self.result: bytes | None = None
        self.error: Error | None = None
        self.status: int | None = None
        context = _context()
        self.control, control = context.Pipe()
        self.text, text = context.Pipe(duplex=False)
        listening = listen()
        self.port = listening.getsockname()[1]
        # No daemon: a daemon may not have children, as a DataLoader's workers are.
        self.process = context.Process(target=worker_main, args=(control, text, listening))
        _running.add(self)
        with _surroundings():
            self.process.start()
        for channel in (control, text, listening):
            channel.close()

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def failed(self) -> bool:
        return self.error is not None or (self.status is not None and not self.finished)

    def tell(self, kind: str, value: Any = None) -> None:
        """Send something; a rank that has ended is reported by its end."""
        with suppress(OSError, ValueError):
            self.control.send((kind, value))

    def read_text(self) -> bytes:
        """Return what the rank has printed; b"" at the end. Call it only if there is something."""
        with suppress(EOFError, OSError):
            if os.name == "nt":
                return self.text.recv_bytes()
            return os.read(self.text.fileno(), 1 << 16)
        return b""

    def kill(self) -> None:
        """Kill the process and the processes that it started, without waiting."""
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def close(self) -> None:
        self.kill()
        self.process.join()
        self.process.close()
        _running.discard(self)
        self.control.close()
        self.text.close()


def take(count: int) -> list[RankProcess]:
    """Return `count` processes: those that wait, and new ones for the rest."""
    with _lock:
        if _context().get_start_method() == "forkserver":
            keep_warm(count)
        ready = [process for process in _waiting if process.process.is_alive()][:count]
        _waiting[:] = [process for process in _waiting if process not in ready]
        return ready + [RankProcess() for _ in range(count - len(ready))]


def keep_warm(count: int, imports: Iterable[str] = ()) -> None:
    """Prepare the next launches: on Linux the fork server, elsewhere `count` processes.

    After a minute of rest they end, and so they do with a count of 0.

    Args:
        imports: modules that most jobs import, and that take seconds: on Linux once for all ranks.
    """
    with _lock:
        if count == 0 or not set(imports) <= _imports:
            _imports.update(imports)
            _rest()
        if count == 0:
            return
        if _context().get_start_method() == "forkserver":
            from multiprocessing import forkserver

            with _surroundings():
                _context().set_forkserver_preload([*_imports, *PRELOAD])
                forkserver.ensure_running()
        else:
            while len(_waiting) < min(count, MOST_WARM):
                _waiting.append(RankProcess())
        rest_later()


def _rest() -> None:
    """End what is kept ready; a launch that runs keeps its ranks."""
    with _lock:
        while _waiting:
            _waiting.pop().close()
        if not _running:  # it tells how they end
            private.stop_fork_server()


def rest_later() -> None:
    """End what is kept ready after a minute without a launch."""
    global _timer
    with _lock:
        if _timer:
            _timer.cancel()
        _timer = threading.Timer(REST_S, _rest)
        _timer.daemon = True
        _timer.start()


def _context() -> Any:
    forks = sys.platform == "linux" and os.environ.get("LAB_FORK") != "0"
    return multiprocessing.get_context("forkserver" if forks else "spawn")


@contextmanager
def _surroundings() -> Iterator[None]:
    """What a new interpreter must find, and mustn't.

    Python 3.11's fork server ignores our sys.path; torch reads some variables when it is imported;
    and multiprocessing would run the program's main file again in each rank.
    """
    found, main = dict(os.environ), sys.modules["__main__"]
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
    own = {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}  # not what lies in the working folder
    os.environ.update(rank_defaults() | os.environ | own | {"PYTHONUNBUFFERED": ""})
    sys.modules["__main__"] = ModuleType("__main__")
    if len(folder := tempfile.gettempdir()) > LONGEST:
        tempfile.tempdir = "/tmp"
        multiprocessing.util.get_temp_dir()  # for good
        tempfile.tempdir = folder
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name in os.environ.keys() - found.keys():
            del os.environ[name]
        os.environ.update(found)


def rank_defaults() -> dict[str, str]:
    """Return the environment variables of every rank that the user can override."""
    return loopback_variables() | {
        # torch's flight recorder: `helpers.hang.flight` reads it while nothing moves.
        "TORCH_FR_BUFFER_SIZE": "256",
        # C++ warns at length when a partner has gone; the failure says it in one sentence.
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }


def the_shell() -> Any:
    """Return IPython's shell, or None; importing IPython just to find none would be slow."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def in_notebook() -> bool:
    """Return whether this process is a notebook's kernel, which outlives a launch."""
    return hasattr(the_shell(), "kernel")


atexit.register(keep_warm, 0)  # else Python would wait for those that wait
