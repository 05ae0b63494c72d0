"""Warm ranks: interpreters that have imported torch and wait, so that a launch starts at once.

Importing torch takes one to two seconds. In a notebook, and in the tests, the next launch is
prepared while its user reads. A process of the pool takes one job and ends, so a launch never finds
what an earlier one left behind. The pool ends with the process that holds it, because each rank
watches a pipe from there. On Linux ranks are forked from one server (`forkserver`), so that even
a rank that wasn't kept warm starts at once.
"""

import importlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from helpers.ranks import forkserver, protocol
from helpers.ranks.protocol import News
from helpers.ranks.store import loopback_variables

MOST_WARM = 8  # a waiting process that was not forked takes about 200 MB
ROOT = Path(__file__).resolve().parents[2]  # the folder that contains `helpers`


class RankProcess:
    """An interpreter that has imported torch and waits for one job, seen from the notebook.

    It starts before it is needed; its rank and the queue for its news come with the job.

    Args:
        process: a forked one; None starts a fresh interpreter.
    """

    def __init__(self, process: "forkserver.Child | forkserver.Forked | None" = None) -> None:
        self.rank = -1
        self._early: list[tuple[str, Any]] = []  # news from before the job
        self._news: queue.Queue[News] | None = None
        self._lock = threading.Lock()
        self.process = process or _fresh_interpreter()
        readers = [
            threading.Thread(target=target, daemon=True)
            for target in (self._read_text, self._read_messages)
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=self._await_end, args=(readers,), daemon=True).start()

    def join(self, rank: int, news: queue.Queue[News]) -> None:
        """Assign the process its rank; from now on its news goes to `news`."""
        with self._lock:
            self.rank, self._news = rank, news
            for kind, value in self._early:
                news.put(News(rank, kind, value))

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def order(self, **message: Any) -> None:
        """Send an order; ignore a process that has ended, whose news says so anyway."""
        try:
            protocol.send(self.process.stdin.fileno(), message)
        except (OSError, ValueError):
            pass

    def kill(self) -> None:
        """Kill the process and the processes that it started; wait until it has ended."""
        self.send_kill()
        self.process.wait()

    def send_kill(self) -> None:
        """Kill them without waiting, so that several ranks can be killed at the same time."""
        try:
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        except (ProcessLookupError, PermissionError):
            pass

    def close(self) -> None:
        """Close the pipes of a process that has ended."""
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def _read_text(self) -> None:
        while data := os.read(self.process.stderr.fileno(), 1 << 16):
            self._tell("text", data)

    def _read_messages(self) -> None:
        try:
            while True:
                self._tell("message", protocol.receive(self.process.stdout.fileno()))
        except (EOFError, OSError):
            pass

    def _await_end(self, readers: list[threading.Thread]) -> None:
        status = self.process.wait()
        for reader in readers:  # its last words come before the news of its end
            for _ in range(4):  # if this whole process was suspended, only one step of four is lost
                reader.join(timeout=0.25)
        self._tell("ended", status)

    def _tell(self, kind: str, value: Any) -> None:
        with self._lock:
            if self._news is None:
                self._early.append((kind, value))
                return
        self._news.put(News(self.rank, kind, value))  # blocks if the reader is slow


class Pool:
    """Processes that wait for a job; `size` says how many to keep ready."""

    def __init__(self) -> None:
        self.size = 0
        self._waiting: list[RankProcess] = []
        self._server: forkserver.ForkServer | None = None
        self._imports: set[str] = set()  # modules that were asked for besides
        self._lock = threading.RLock()  # two launches may run at once, in two threads

    def take(self, count: int, news: queue.Queue[News]) -> list[RankProcess]:
        """Take `count` processes as ranks 0, 1, …: warm ones first, new ones for the rest."""
        with self._lock:
            self._forget_the_dead()
            taken = self._waiting[:count]
            self._waiting = self._waiting[count:]
            taken += [self._new() for _ in range(count - len(taken))]
        for rank, process in enumerate(taken):
            process.join(rank, news)
        return taken

    def refill(self) -> None:
        """Start missing processes and return immediately; they warm up on their own."""
        with self._lock:
            self._forget_the_dead()
            while len(self._waiting) < min(self.size, MOST_WARM):
                self._waiting.append(self._new())

    def fork_from_here(self, names: Iterable[str] = ()) -> None:
        """Import these modules, and fork ranks from this process, which has done nothing else."""
        if forkserver.possible():
            self._imports = {importlib.import_module(name).__name__ for name in names}
            self._server = forkserver.ForkServer(None)

    def import_first(self, names: Iterable[str]) -> None:
        """Fork ranks from now on from a process that has imported these modules, too."""
        with self._lock:
            if set(names) <= self._imports:
                return
            self._imports.update(names)
            if self._server:
                self._server.retire()
            self._server = None

    def fork_now(self, count: int) -> None:
        """Fork the ranks of one launch from this process, without a server between the two."""
        if forkserver.possible():
            self._waiting = [RankProcess(child) for child in forkserver.fork_ranks(count)]

    def close(self) -> None:
        """End all waiting processes and the servers that they were forked from."""
        with self._lock:
            self.size = 0
            for process in self._waiting:
                process.kill()
                process.close()
            self._waiting = []
            if self._server:
                self._server.close()
            self._server = None

    def _new(self) -> RankProcess:
        if not forkserver.possible():
            return RankProcess()
        if self._server and self._server.alive:
            try:
                return RankProcess(self._server.fork())
            except OSError:
                pass  # it has died since it was asked
        environment, imports = rank_environment(), sorted(self._imports)
        self._server = forkserver.ForkServer(environment, imports)
        return RankProcess(self._server.fork())

    def _forget_the_dead(self) -> None:
        for process in self._waiting:
            if not process.alive:
                process.close()
        self._waiting = [process for process in self._waiting if process.alive]


@cache
def the_pool() -> Pool:
    """Return the pool of this process."""
    return Pool()


def keep_warm(count: int, imports: Iterable[str] = ()) -> None:
    """Keep `count` processes ready from now on; 0 ends those that wait.

    Args:
        imports: modules that most jobs import, and that take seconds: on Linux once for all ranks.
    """
    pool = the_pool()
    if count == 0:
        pool.close()
    pool.size = count
    pool.import_first(imports)
    pool.refill()


def the_shell() -> Any:
    """Return IPython's shell, or None; importing IPython just to find none would be slow."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def in_notebook() -> bool:
    """Return whether this process is a notebook's kernel, which outlives a launch."""
    return hasattr(the_shell(), "kernel")


def _fresh_interpreter() -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", "from helpers.ranks.worker import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=rank_environment(),
        # Its own group, so that the processes that a rank starts end with it.
        start_new_session=os.name == "posix",
    )


def rank_environment() -> dict[str, str]:
    """Return the environment in which an interpreter for ranks starts."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
    return rank_defaults() | os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": ""}


def rank_defaults() -> dict[str, str]:
    """Return the environment variables of every rank that the user can override."""
    return loopback_variables() | {
        # torch's flight recorder: `helpers.hang.flight` reads it after a stop.
        "TORCH_FR_BUFFER_SIZE": "256",
        # C++ warns at length when a partner has gone; the failure says it in one sentence.
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }
