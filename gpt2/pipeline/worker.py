"""A thread for each part of a pipeline: it takes tasks from one queue, and puts results in another.

Threads of one process can compute at the same time: torch lets go of Python while it computes.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from queue import Queue
from threading import Thread
from typing import Any

import torch


class Task:
    """Something to compute in a worker, with the grad mode of the thread that asked for it.

    Each thread has a grad mode of its own: without this, a worker would build a graph although
    its caller stands in torch.no_grad().
    """

    def __init__(self, compute: Callable[[], Any]):
        self._compute = compute
        self._grad = torch.is_grad_enabled()

    def compute(self) -> Any:
        with torch.set_grad_enabled(self._grad):
            return self._compute()


def worker(in_queue: Queue, out_queue: Queue, device: torch.device) -> None:
    """Do tasks until None comes.

    Puts (True, (task, result)), or (False, sys.exc_info()) where the task has raised.
    """
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        while (task := in_queue.get()) is not None:
            try:
                out_queue.put((True, (task, task.compute())))
            except BaseException:  # the thread that waits must hear of everything
                out_queue.put((False, sys.exc_info()))
            del task  # a thread that waits keeps no activations


def create_workers(devices: Sequence[torch.device]) -> tuple[list[Queue], list[Queue]]:
    """A thread for each entry of `devices`; the queues into and out of each.

    The thread of an in-queue is its attribute `thread`; `end_workers` ends them all.
    """
    in_queues, out_queues = [], []
    for number, device in enumerate(devices):
        queues = Queue(), Queue()
        thread = Thread(
            target=worker, args=(*queues, device), name=f"pipeline part {number}", daemon=True
        )
        queues[0].thread = thread
        thread.start()
        in_queues.append(queues[0])
        out_queues.append(queues[1])
    return in_queues, out_queues


def end_workers(in_queues: Sequence[Queue]) -> None:
    """Let each thread finish what it has, and wait until it has ended. Twice does no harm."""
    for queue in in_queues:
        queue.put(None)
    for queue in in_queues:
        queue.thread.join()
