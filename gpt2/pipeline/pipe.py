"""A sequence of layers as a pipeline: a batch goes through in micro-batches, part after part.

Huang et al., "GPipe" (arXiv 1811.06965); the threads and queues are those of Kim et al.,
"torchgpipe" (arXiv 2004.09910).
"""

import weakref
from functools import partial

import torch
from torch import nn
from wrong_input import WrongInput

from pipeline.partition import _split_module
from pipeline.worker import Task, create_workers, end_workers


def _clock_cycles(num_batches, num_partitions):
    """Yield what each clock cycle computes at the same time, as a list of (micro-batch, partition).

    Micro-batch i is in partition j at cycle i + j: there are `num_batches + num_partitions - 1`.
    (A clock cycle is also called a tick, and a partition a part.)
    """
    # BEGIN SOLUTION GP-4
    for cycle in range(num_batches + num_partitions - 1):
        yield [(cycle - j, j) for j in range(num_partitions) if 0 <= cycle - j < num_batches]
    # END SOLUTION


class Pipe(nn.Module):
    """An nn.Sequential as a pipeline.

    split_size: samples in a micro-batch; the last one may have fewer.
    partitions, devices, in_queues, out_queues: of each part, in order.

    The threads end with `close()`, at the end of `with Pipe(…) as pipe`, or with the pipe.
    Raises WrongInput for a split size below 1, and as `_split_module`.
    """

    def __init__(self, module, split_size=1):
        super().__init__()
        if not isinstance(split_size, int) or split_size < 1:
            told = "it is the number of samples in a micro-batch; give a whole number from 1"
            raise WrongInput(f"a split size of {split_size!r}: {told}")
        self.split_size = split_size
        self.partitions, self.devices = _split_module(module)
        self.in_queues, self.out_queues = create_workers(self.devices)
        self.close = weakref.finalize(self, end_workers, self.in_queues)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def forward(self, x):
        """Return what the layers make of `x`, one after the other; on the last device.

        x: (samples, …); or a tuple of such tensors, for layers that take and return tuples. None
        in a tuple stays None.
        """
        if not self.close.alive:
            raise WrongInput("this pipe is closed, its threads have ended: make a new one")
        if len(x[0] if isinstance(x, tuple) else x) == 0:
            raise WrongInput("a batch without samples cannot go through a pipeline: give it some")
        batches = split(x, self.split_size)
        for schedule in _clock_cycles(len(batches), len(self.partitions)):
            self.compute(batches, schedule)
        return join(batches)

    def compute(self, batches, schedule):
        """Compute what one clock cycle asks for, in the workers; put each result into `batches`.

        Returns when all are done. Raises what the first of them has raised.
        """
        # BEGIN SOLUTION GP-5
        for i, j in schedule:
            self.in_queues[j].put(Task(partial(self.one, j, i, batches[i])))
        answers = [self.out_queues[j].get() for _, j in schedule]
        for (i, _), (done, answer) in zip(schedule, answers, strict=True):
            if not done:
                raise answer[1].with_traceback(answer[2])
            batches[i] = answer[1]
        # END SOLUTION

    def one(self, j, i, batch):
        """Take micro-batch i through partition j, on its device; this runs in its worker."""
        return self.partitions[j](each(lambda tensor: tensor.to(self.devices[j]), batch))


def each(change, batch):
    """Change a tensor, or each tensor of a tuple; None stays None."""
    if not isinstance(batch, tuple):
        return change(batch)
    return tuple(None if part is None else change(part) for part in batch)


def split(x, size):
    """Return micro-batches of `size` samples, in order; the last may have fewer."""
    samples = len(x[0] if isinstance(x, tuple) else x)
    return [each(lambda t, at=at: t[at : at + size], x) for at in range(0, samples, size)]


def join(batches):
    """Return the micro-batches as one batch."""
    if not isinstance(batches[0], tuple):
        return torch.cat(batches)
    columns = zip(*batches, strict=True)
    return tuple(None if column[0] is None else torch.cat(column) for column in columns)
