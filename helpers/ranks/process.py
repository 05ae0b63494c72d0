"""One rank's process, seen from the notebook: start it, send orders, hear news, end it."""

import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.ranks import protocol
from helpers.ranks.forkserver import ForkServer
from helpers.ranks.interface import loopback

ROOT = Path(__file__).resolve().parents[2]  # the folder that contains `helpers`


def defaults() -> dict[str, str]:
    """Environment variables of every rank, where the person has not set them."""
    return loopback() | {
        # torch's own record of collectives: `helpers.hang.flight` reads it after a stop.
        "TORCH_FR_BUFFER_SIZE": "256",
        # C++ warns at length when a partner has gone; the failure that is shown says it in words.
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }


@dataclass(frozen=True)
class News:
    """Something that one rank did.

    kind: "message" (value: a dict), "text" (value: bytes) or "ended" (value: the exit status).
    """

    rank: int
    kind: str
    value: Any


class RankProcess:
    """An interpreter that has torch imported and waits for one job.

    server: where it is forked from; without one it is started anew.
    It is started before it is needed, and gets its rank, and the queue for its news, with the job.
    """

    def __init__(self, server: ForkServer | None = None) -> None:
        self.rank = -1
        self._early: list[tuple[str, Any]] = []  # news from before the job
        self._news: queue.Queue[News] | None = None
        self._lock = threading.Lock()
        self.process = server.fork() if server else _fresh_interpreter()
        readers = [
            threading.Thread(target=target, daemon=True)
            for target in (self._read_text, self._read_messages)
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=self._await_end, args=(readers,), daemon=True).start()

    def join(self, rank: int, news: queue.Queue[News]) -> None:
        """Give the process its rank; from now on its news go to `news`."""
        with self._lock:
            self.rank, self._news = rank, news
            for kind, value in self._early:
                news.put(News(rank, kind, value))

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def order(self, **message: Any) -> None:
        """Send an order; a process that has ended already says so by itself."""
        try:
            protocol.send(self.process.stdin.fileno(), message)
        except (OSError, ValueError):
            pass

    def kill(self) -> None:
        """End the process, and the processes that it started, at once; wait until it has ended."""
        self.strike()
        self.process.wait()

    def strike(self) -> None:
        """End them without waiting: for the one who has several to end."""
        try:
            if os.name == "posix":
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        except (ProcessLookupError, PermissionError):
            pass

    def close(self) -> None:
        """Let go of the pipes of a process that has ended."""
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
        for reader in readers:  # what it still said comes before the news of its end
            for _ in range(4):  # where this whole process stands still, it loses one step of four
                reader.join(timeout=0.25)
        self._tell("ended", status)

    def _tell(self, kind: str, value: Any) -> None:
        with self._lock:
            if self._news is None:
                self._early.append((kind, value))
                return
        self._news.put(News(self.rank, kind, value))  # waits where the reader is slow


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
    """The environment in which an interpreter for ranks starts."""
    mine = {"PYTHONPATH": _import_path(), "PYTHONUNBUFFERED": ""}
    return defaults() | os.environ | mine


def _import_path() -> str:
    """The import path of a rank: where `helpers` lies, then what was set before."""
    return os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
