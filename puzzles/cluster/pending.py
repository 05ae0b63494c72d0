"""Something that a rank has started and will wait for: a collective, a send, a receive.

`await model.all_reduce(…)` waits at once. Without the await, the rank goes on, and waits when it
awaits what it was given: where the profile lets them, communication and computing overlap.

It can be awaited in two worlds: the cluster's own driver takes the object itself, asyncio a future.
To asyncio it looks like a coroutine, so that create_task and gather take it.
"""

import asyncio

from cluster.errors import PuzzleError


class Pending:
    """ready: it need not wait any longer. number: its place among those of its rank.

    Each kind has finish(), what awaiting it gives; doing(), what the rank does, in words; and
    needs(), the ranks that it waits for.
    """

    __slots__ = ("rank", "ready", "taken", "number", "future", "error", "steps")

    def __init__(self, rank, ready: bool = False):
        self.rank, self.ready, self.taken = rank, ready, False
        self.future = self.error = self.steps = None
        rank.pendings = self.number = rank.pendings + 1
        rank.pending[self.number] = self

    def __await__(self):
        rank = self.rank
        if self.taken:
            raise PuzzleError(f"rank {rank.number} awaits the same thing twice: it {self.doing()}")
        self.taken = True
        if not self.ready:
            rank.waiting = self
            if rank.cluster.driver is not None:
                yield self
            else:
                self.future = asyncio.get_running_loop().create_future()
                rank.cluster.watch.blocked(rank)
                yield from self.future
            rank.waiting = None
            if self.error is not None:
                raise self.error
        del rank.pending[self.number]
        if rank.tape is not None:
            rank.tape.append(("take", self.number))
        return self.finish()

    def settle(self) -> None:
        """It need not wait any longer."""
        self.ready = True
        if self.rank.waiting is self:
            if self.future is None:
                self.rank.cluster.driver.wake(self.rank)
            elif not self.future.done():
                self.rank.cluster.watch.moved += 1
                self.future.set_result(None)

    def fail(self, error: Exception) -> None:
        """The waiting is in vain."""
        self.error = error
        if self.future is not None and not self.future.done():
            self.future.set_result(None)

    def send(self, value):
        self.steps = self.steps or self.__await__()
        return self.steps.send(value)

    def throw(self, *error):
        self.steps = self.steps or self.__await__()
        return self.steps.throw(*error)

    def close(self):
        if self.steps is not None:
            self.steps.close()
