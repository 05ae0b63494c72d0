"""Warm ranks: interpreters that have imported torch and wait, so that a launch starts at once.

Importing torch takes one to two seconds. In a notebook, and in the tests, the next launch is
prepared while the person reads. A process of the pool takes one job and ends, so a launch never
finds what an earlier one left behind. The pool ends with the process that holds it: each rank
watches a pipe from there. On Linux ranks are forked from one server (`forkserver`), so that even
those that nobody has kept warm start at once.
"""

import queue
import sys
import threading
from functools import cache

from helpers.ranks import forkserver
from helpers.ranks.process import News, RankProcess, rank_environment

MOST_WARM = 8  # a waiting process that was not forked holds about 200 MB


class Pool:
    """Processes that wait for a job; `size` is how many to keep ready."""

    def __init__(self) -> None:
        self.size = 0
        self._waiting: list[RankProcess] = []
        self._server: forkserver.ForkServer | None = None
        self._next: forkserver.ForkServer | None = None  # knows more, and is not ready yet
        self._lock = threading.RLock()  # two launches may run at once, in two threads

    def take(self, count: int, news: queue.Queue[News], trains: bool = False) -> list[RankProcess]:
        """`count` processes with the ranks 0, 1, …: warm ones first, new ones for the rest.

        trains: it is known that they will make an optimizer.
        """
        with self._lock:
            self._forget_the_dead()
            taken = self._waiting[:count]
            self._waiting = self._waiting[count:]
            taken += [self._new(trains) for _ in range(count - len(taken))]
        for rank, process in enumerate(taken):
            process.join(rank, news)
        return taken

    def refill(self) -> None:
        """Start what is missing; gives at once, the processes get ready by themselves."""
        with self._lock:
            self._forget_the_dead()
            while len(self._waiting) < min(self.size, MOST_WARM):
                self._waiting.append(self._new())
            if self.size and self._server and not self._server.trains and not self._next:
                self._next = forkserver.ForkServer(rank_environment(), trains=True, patient=True)

    def close(self) -> None:
        """End every process that waits, and the server that they were forked from."""
        with self._lock:
            self.size = 0
            for process in self._waiting:
                process.kill()
                process.close()
            self._waiting = []
            for server in (self._server, self._next):
                if server:
                    server.close()
            self._server = self._next = None

    def _new(self, trains: bool = False) -> RankProcess:
        if not forkserver.possible():
            return RankProcess()
        if self._next and self._next.ready and self._next.alive:
            if self._server:
                self._server.retire()
            self._server, self._next = self._next, None
        if self._server is None or not self._server.alive:
            self._server = forkserver.ForkServer(rank_environment(), trains)
        return RankProcess(self._server)

    def _forget_the_dead(self) -> None:
        for process in self._waiting:
            if not process.alive:
                process.close()
        self._waiting = [process for process in self._waiting if process.alive]


@cache
def the_pool() -> Pool:
    """The pool of this process."""
    return Pool()


def keep_warm(count: int) -> None:
    """From now on keep `count` processes ready (0: none, and end those that wait)."""
    pool = the_pool()
    if count == 0:
        pool.close()
    pool.size = count
    pool.refill()


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel, which lives on after a launch."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")
