"""Run all ranks in turn, and find those that would wait forever.

The cluster's own driver does without asyncio. Where asyncio drives the ranks, nobody says when
nothing can move any more. But in one round of its loop every task that can run does run; so when
some rounds have passed in which no rank moved, none will.
"""

import asyncio
import ctypes
import gc
import threading
from collections import deque
from contextlib import contextmanager

from cluster.communication import Pending
from cluster.errors import Deadlock, Misplaced, NeverEnds
from helpers.waits import Wait, find_deadlock, sentence

SECONDS = 120.0
ROUNDS = 3
PATIENCE_S = 1.0  # where other tasks live beside the ranks, and might wake one of them
NAP_S = 0.05


def deadlock(cluster) -> Deadlock:
    """The error for ranks that wait for each other. Ranks that do not wait have ended."""
    waiting = [rank for rank in cluster.ranks if rank.waiting is not None]
    ended = [rank.number for rank in cluster.ranks if rank.waiting is None]
    waits = [
        Wait(rank.number, tuple(sorted(rank.waiting.needs())), rank.waiting.doing())
        for rank in waiting
    ]
    deadlock = find_deadlock(waits, ended)
    if deadlock is None:
        return Deadlock("deadlock: collectives of overlapping groups were started in two orders")
    return Deadlock(f"deadlock: {sentence(deadlock)}{_cure(deadlock)}", deadlock)


def _cure(deadlock) -> str:
    if deadlock.cycle:
        return ". Let one of them change its order: send first, receive first, or join the others"
    return ". All ranks of a group must make the same collectives, and each receive needs its send"


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


class Driver:
    """Ranks that can go on stand in line."""

    def __init__(self, cluster):
        self.cluster, self.line = cluster, deque()

    def wake(self, rank) -> None:
        """Called when what a rank waits for has come."""
        self.line.append(rank)

    def run(self, steps: list) -> list:
        """Run one coroutine for each rank, and give what each returns. Raises what a step raises,
        and Deadlock."""
        results = [None] * len(steps)
        self.line.extend(self.cluster.ranks)
        try:
            while self.line:
                rank = self.line.popleft()
                try:
                    found = steps[rank.number].send(None)
                except StopIteration as end:
                    rank.ended, results[rank.number] = True, end.value
                    continue
                if not isinstance(found, Pending):
                    raise Misplaced(
                        f"rank {rank.number} awaits something that is not the cluster's: a step "
                        "may await only what the model's methods give"
                    )
            if not all(rank.ended for rank in self.cluster.ranks):
                raise deadlock(self.cluster)
        finally:
            for step in steps:
                step.close()
        return results


def drive(cluster, steps: list, seconds: float | None = SECONDS) -> list:
    """Run the coroutines of all ranks to their ends. NeverEnds after so many seconds."""
    for number, step in enumerate(steps):
        if not asyncio.iscoroutine(step):
            raise Misplaced(
                f"rank {number}: the step gave a {type(step).__name__} where a coroutine was "
                "expected: write it as `async def`"
            )
    cluster.driver = Driver(cluster)
    # Memory is what Python holds, to the moment: the collector would free some of it by chance.
    collects = gc.isenabled()
    gc.disable()
    try:
        with _alarm(seconds):
            return cluster.driver.run(steps)
    finally:
        if collects:
            gc.enable()


class _TimeIsUp(BaseException):
    """Raised in the middle of a step; `except Exception` does not hold it."""


@contextmanager
def _alarm(seconds: float | None):
    """Interrupt this thread after some seconds, whatever Python it runs.

    No signal does it: a program that a shell has started in the background ignores interrupts.
    """
    if not seconds:
        yield
        return
    thread = ctypes.c_ulong(threading.get_ident())

    def stop():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_TimeIsUp))

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except _TimeIsUp:
        raise NeverEnds(
            f"the step did not end within {seconds:g} s: is there a loop that never ends?"
        ) from None
    finally:
        timer.cancel()
