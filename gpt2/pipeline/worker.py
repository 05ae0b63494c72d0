"""A thread for each part of a pipeline: it takes tasks from one queue, and puts results in another.

Threads of one process can compute at the same time: torch lets go of Python while it computes.
"""

import sys
from contextlib import nullcontext
from queue import Queue
from threading import Thread

import torch


class Task:
    """Something to compute in a worker, with the grad mode of the thread that asked for it.

    Each thread has a grad mode of its own: without this, a worker would build a graph although
    its caller stands in torch.no_grad().
    """

    def __init__(self, compute):
        self._compute, self._grad = compute, torch.is_grad_enabled()

    def compute(self):
        with torch.set_grad_enabled(self._grad):
            return self._compute()


def worker(in_queue, out_queue, device):
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


def create_workers(devices):
    """Start a thread for each entry of `devices`; return the queues into and out of each.

    The thread of an in-queue is its attribute `thread`; `end_workers` ends them all.
    """
    in_queues, out_queues = [Queue() for _ in devices], [Queue() for _ in devices]
    for arguments in zip(in_queues, out_queues, devices, strict=True):
        arguments[0].thread = Thread(target=worker, args=arguments, daemon=True)
        arguments[0].thread.start()
    return in_queues, out_queues


def end_workers(in_queues):
    """Let each thread finish what it has, and wait until it has ended. Twice does no harm."""
    for queue in in_queues:
        queue.put(None)
    for queue in in_queues:
        queue.thread.join()
