"""Paced data-parallel steps in which every gap has a size that is known, to learn how to read one.

A step reads a batch, goes forward and backward, averages gradients in torch's buckets, and updates.
Each part sleeps for its time; the messages and the waiting are real.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import torch
import torch.distributed as dist
from buckets import MB
from intro_DDP import averaging
from paced import Paced

from helpers.network import Link, slow_link
from helpers.ranks import launch
from helpers.trace import Recorder, with_waits

PARTS = ("model", "input", "launch", "waiting", "exposed", "tail")
STEPS = 2  # that are recorded


@dataclass(frozen=True)
class Run:
    """Seconds of a step, of one rank.

    forward, backward: of all layers together. launch: from one layer to the next, while nothing
    computes. reading: of a batch. bucket: of each bucket's all-reduce. update: of the optimizer.
    slow: {rank: how many times as long it takes to compute}.
    """

    forward: float = 0.3
    backward: float = 0.6
    launch: float = 0.0075
    reading: float = 0.12
    bucket: float = 0.12
    update: float = 0.12
    slow: dict = field(default_factory=dict)
    layers: int = 8
    buckets: int = 4
    numbers: int = 2**16

    @property
    def seconds(self):
        """A step, which ends when the slowest rank's gradients have arrived and are used."""
        slowest, launching = max([1.0, *self.slow.values()]), self.layers * self.launch
        backward, k, c = slowest * (self.backward + launching), self.buckets, self.bucket
        exposed = max(c, backward / k + k * c - backward)  # what sticks out after backward
        before = self.reading + slowest * (self.forward + launching)
        return before + backward + exposed + self.update


def steps(run):
    """On a rank: return a trace of some steps, after one that isn't recorded."""
    torch.set_num_threads(1)
    rank, n = dist.get_rank(), dist.get_world_size()
    recorder, slow = Recorder(rank), run.slow.get(rank, 1.0)
    sizes = run.layers, run.numbers, run.forward, run.backward, slow, run.launch
    net, size = Paced(*sizes, recorder), 4 * run.numbers / run.buckets
    model, _ = averaging(net, "ddp", size / MB, recorder)
    begun = 0.0
    with slow_link(Link.of(0.0, run.bucket / (2 * (n - 1) / n * size))):
        for number in range(STEPS + 1):
            if number < 2:  # after the first step the buckets are made anew
                dist.barrier()
                net.clock.begin()
                begun = recorder.now()
            with recorder.span("input"):
                net.clock.wait(run.reading)
            model(torch.ones(1)).backward()  # it ends when all buckets have arrived
            net.clock.begin()
            with recorder.span("update"):
                net.clock.wait(run.update)
    return recorder.trace().between(begun, recorder.now())


def traced(run, ranks):
    """Return the trace of some steps on paced ranks."""
    traces = launch(steps, ranks, (run,), quiet=True, checked=False)
    return traces[0].merged(*traces[1:])


def gaps(trace, rank):
    """Yield the gaps of a rank: what is missing then, and from when to when.

    A gap has the name of what ends it: an update has waited for gradients, a layer for the program
    that starts it. Of the former, the ranks that come late are to blame for the first part.
    """
    row = [e for e in trace.events_of(rank) if e.lane != "communication"]
    waits = [e for e in with_waits(trace).events_of(rank) if e.kind == "wait"]
    for before, after in pairwise(row):
        if after.kind == "update":
            all_here = max([before.end, *(e.end for e in waits if e.start < after.start)])
            yield "waiting", before.end, all_here
            yield "exposed", all_here, after.start
        else:
            yield "launch", before.end, after.start


def idle(events):
    """Yield the gaps between a GPU's kernels, which say when they were launched: name, seconds.

    "launch": the GPU had nothing to do, because the next kernel hadn't been launched yet.
    "between kernels": the next one was in the queue, and the GPU needed a moment to get to it.
    """
    for before, after in pairwise(events):
        late = after.info["launched"] > before.end
        yield "launch" if late else "between kernels", after.start - before.end


def parts(trace, rank, steps=STEPS):
    """Return what a rank's steps are spent on: mean seconds of each part, together a step."""
    found = dict.fromkeys(PARTS, 0.0)
    names = {"F": "model", "B": "model", "input": "input", "update": "tail"}
    for event in trace.events_of(rank):
        if event.kind in names:
            found[names[event.kind]] += event.duration / steps
    for name, start, end in gaps(trace, rank):
        found[name] += (end - start) / steps
    return found
