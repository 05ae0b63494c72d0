"""The cluster's own driver: runs all ranks in turn, without asyncio."""

import asyncio
import ctypes
import gc
import threading
from collections import deque
from contextlib import contextmanager

from cluster.deadlock import deadlock
from cluster.errors import Misplaced, NeverEnds
from cluster.pending import Pending

SECONDS = 120.0


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
