"""Warm ranks: interpreters that have imported torch and wait, so that a launch starts at once.

Importing torch takes one to two seconds. In a notebook, and in the tests, the next launch is
prepared while the person reads. A process of the pool takes one job and ends, so a launch never
finds what an earlier one left behind. The pool ends with the process that holds it: each rank
watches a pipe from there.
"""

import queue
import sys
from functools import cache

from helpers.ranks.process import News, RankProcess

MOST_WARM = 8  # a waiting process holds about 200 MB


class Pool:
    """Processes that wait for a job; `size` is how many to keep ready."""

    def __init__(self) -> None:
        self.size = 0
        self._waiting: list[RankProcess] = []

    def take(self, count: int, news: queue.Queue[News]) -> list[RankProcess]:
        """`count` processes with the ranks 0, 1, …: warm ones first, new ones for the rest."""
        self._forget_the_dead()
        taken = self._waiting[:count]
        self._waiting = self._waiting[count:]
        taken += [RankProcess() for _ in range(count - len(taken))]
        for rank, process in enumerate(taken):
            process.join(rank, news)
        return taken

    def refill(self) -> None:
        """Start what is missing; gives at once, the processes get ready by themselves."""
        self._forget_the_dead()
        while len(self._waiting) < min(self.size, MOST_WARM):
            self._waiting.append(RankProcess())

    def close(self) -> None:
        """End every process that waits."""
        self.size = 0
        for process in self._waiting:
            process.kill()
            process.close()
        self._waiting = []

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
