"""Find the ranks that wait in vain where asyncio drives them.

asyncio does not say when nothing can move any more. But in one round of its loop every task that
can run does run; so when some rounds have passed in which no rank moved, none will.
"""

import asyncio

from cluster.deadlock import deadlock

ROUNDS = 3
PATIENCE_S = 1.0  # where other tasks live beside the ranks, and might wake one of them
NAP_S = 0.05


class Watch:
    """Looks after each round of the loop, as long as a rank waits."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.moved = 0  # counts every step that any rank makes
        self.active = False
        self.home = _task()  # the task that made the cluster, which waits for the ranks
        self.tasks: dict[int, asyncio.Task] = {}

    def blocked(self, rank) -> None:
        """A rank begins to wait."""
        self.moved += 1
        self.tasks[rank.number] = _task()
        if not self.active:
            self.active = True
            asyncio.get_running_loop().call_soon(self._look, self.moved, 0, 0.0)

    def _look(self, seen: int, rounds: int, napped: float) -> None:
        loop = asyncio.get_running_loop()
        waiting = [rank for rank in self.cluster.ranks if rank.waiting is not None]
        if not waiting:
            self.active = False
        elif self.moved != seen:
            loop.call_soon(self._look, self.moved, 0, 0.0)
        elif rounds < ROUNDS:
            loop.call_soon(self._look, seen, rounds + 1, 0.0)
        elif self._others(waiting) and napped < PATIENCE_S:
            loop.call_later(NAP_S, self._look, seen, rounds, napped + NAP_S)
        else:
            self.active = False
            error = deadlock(self.cluster)
            for rank in waiting:
                rank.waiting.fail(error)

    def _others(self, waiting) -> bool:
        """Whether there are tasks that are neither ranks which wait nor the one that waits for
        them all."""
        known = {self.tasks.get(rank.number) for rank in waiting} | {self.home}
        return bool(asyncio.all_tasks() - known)


def _task():
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
