"""A model whose layers take a chosen time and compute nothing: what is left is the averaging.

Ranks that sleep don't compete for a core, so a step of two or of eight of them takes what it would
take on as many machines (`helpers.pipeline.Pace` does the same for a pipeline). Autograd, its
hooks, the buckets and the messages are real.
"""

import time

import torch
from torch import nn

from helpers.trace import Recorder


class Clock:
    """Let a rank's work end when it is due: a sleep that ends late doesn't make the next one late.

    slow: how many times as long this rank takes for everything.
    """

    def __init__(self, slow=1.0):
        self.slow, self.due = slow, 0.0

    def begin(self):
        """Count from now on: call it where the rank has had to wait."""
        self.due = time.perf_counter()

    def work(self, seconds):
        """Compute for so long, or longer on a slow rank."""
        self.wait(self.slow * seconds)

    def wait(self, seconds):
        """Do what takes as long on every rank."""
        self.due += seconds
        time.sleep(max(0.0, self.due - time.perf_counter()))


class Work(torch.autograd.Function):
    """A layer's forward and backward, each as long as work("F") and work("B")."""

    @staticmethod
    def forward(ctx, x, weight, work):
        ctx.work, ctx.numbers = work, weight.numel()
        work("F")
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        ctx.work("B")
        return gradient, gradient.expand(ctx.numbers), None


class Layer(nn.Module):
    """A layer of some weights. launch: seconds before each of its parts is under way."""

    def __init__(self, number, weights, seconds, launch, clock, recorder):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(weights))

        def work(kind):
            clock.work(launch)
            with recorder.span(kind, layer=number):
                clock.work(seconds[kind])

        self.work = work

    def forward(self, x):
        return Work.apply(x, self.weight, self.work)


class Paced(nn.Sequential):
    """Equal layers that take `forward` and `backward` seconds together. Call it with (1,) numbers.

    numbers: of all layers together, 4 bytes each. slow: see `Clock`. launch: see `Layer`.
    """

    def __init__(self, layers, numbers, forward, backward, slow=1.0, launch=0.0, recorder=None):
        clock, seconds = Clock(slow), {"F": forward / layers, "B": backward / layers}
        facts = numbers // layers, seconds, launch, clock, recorder or Recorder(0, False)
        super().__init__(*(Layer(number, *facts) for number in range(layers)))
        self.clock = clock
