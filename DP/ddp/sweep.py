"""How large should a bucket be? Predict it from the hooks and the link, then measure it.

The prediction needs three things: when each gradient is complete, how large it is, and what the
link costs (`Link`). A bucket begins when its last gradient is complete and the bucket before it has
arrived. What is measured are paced layers (`paced`): the ranks don't compete for a core.
"""

import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from buckets import MB, Buckets
from paced import Paced

from helpers.network import Link, slow_link
from helpers.trace import Event, Recorder, Trace

COUNTS = (1, 2, 4, 8, 16, 32, 64)  # buckets: from all gradients in one to each alone


@dataclass(frozen=True)
class Plan:
    """Equal layers: forward takes a third of `seconds` and backward two thirds.

    sending: the seconds of an all-reduce's bytes. latency: of a message. numbers: of all gradients.
    """

    seconds: float = 0.6
    sending: float = 0.6
    latency: float = 0.003
    ranks: int = 2
    layers: int = 64
    numbers: int = 2**18

    @property
    def link(self):
        sent = 2 * (self.ranks - 1) / self.ranks * 4 * self.numbers
        return Link.of(self.latency, self.sending / sent)

    @property
    def gradients(self):
        """(seconds from the start of the step, bytes) of each gradient, as it is complete."""
        each, size = 2 / 3 * self.seconds / self.layers, 4 * self.numbers // self.layers
        return [(self.seconds / 3 + (n + 1) * each, size) for n in range(self.layers)]

    def megabytes(self, count):
        """The size of a bucket if there are `count` of them."""
        return 4 * self.numbers / count / MB

    def paced(self):
        return Paced(self.layers, self.numbers, self.seconds / 3, 2 / 3 * self.seconds)


def cut(gradients, megabytes):
    """Cut gradients, in the order in which they are complete, into buckets of at most this size."""
    buckets, room = [], 0.0
    for at, size in gradients:
        if not buckets or size > room:
            room = megabytes * MB
            buckets.append([])
        buckets[-1].append((at, size))
        room -= size
    return buckets


def predicted(gradients, computed, link, ranks, megabytes):
    """Return the predicted step as a trace of one rank; its duration is the step time."""
    first = gradients[0][0]
    events = [Event(0, "F", 0.0, first), Event(0, "B", first, computed)]
    arrived = 0.0
    for number, bucket in enumerate(cut(gradients, megabytes)):
        size, begin = sum(size for _, size in bucket), max(bucket[-1][0], arrived)
        arrived = begin + link.all_reduce_seconds(size, ranks)
        events.append(Event(0, "all-reduce", begin, arrived, name=f"bucket {number}"))
    return Trace(events)


def step(model, clock, finish, recorder):
    """Take a step of a paced model without the update, and return its seconds."""
    dist.barrier()
    clock.begin()
    begun = time.perf_counter()
    with recorder.span("F"):
        y = model(torch.ones(1))
    with recorder.span("B"):
        y.sum().backward()
    finish()
    return time.perf_counter() - begun


def measured(plan, counts=COUNTS, steps=2):
    """What each rank runs: {buckets: seconds of the fastest step} on the plan's link."""
    torch.set_num_threads(1)
    found = {}
    with slow_link(plan.link):
        for count in counts:
            net, silent = plan.paced(), Recorder(0, enabled=False)
            size = plan.megabytes(count)
            finish = Buckets(net, silent, size, first=size).finish
            found[count] = min([step(net, net.clock, finish, silent) for _ in range(steps + 1)][1:])
    return found
