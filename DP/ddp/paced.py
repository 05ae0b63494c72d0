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
    """A layer's forward and backward, each as long as the layer says."""

    @staticmethod
    def forward(ctx, x, weight, layer):
        ctx.layer, ctx.numbers = layer, weight.numel()
        layer.work("F", layer.forward_s)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        ctx.layer.work("B", ctx.layer.backward_s)
        return gradient, gradient.expand(ctx.numbers), None


class Layer(nn.Module):
    """A layer of `numbers` weights. launch: seconds before each of its parts is under way."""

    def __init__(self, clock, recorder, number, numbers, forward_s, backward_s, launch):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(numbers))
        self.clock, self.recorder, self.number, self.launch = clock, recorder, number, launch
        self.forward_s, self.backward_s = forward_s, backward_s

    def forward(self, x):
        return Work.apply(x, self.weight, self)

    def work(self, kind, seconds):
        self.clock.work(self.launch)
        with self.recorder.span(kind, layer=self.number):
            self.clock.work(seconds)


class Paced(nn.Sequential):
    """Equal layers that take `forward` and `backward` seconds together. Call it with (1,) numbers.

    numbers: of all layers together, 4 bytes each. slow: see `Clock`. launch: see `Layer`.
    """

    def __init__(self, layers, numbers, forward, backward, slow=1.0, launch=0.0, recorder=None):
        clock, recorder = Clock(slow), recorder or Recorder(0, enabled=False)
        sizes = numbers // layers, forward / layers, backward / layers, launch
        super().__init__(*(Layer(clock, recorder, n, *sizes) for n in range(layers)))
        self.clock = clock
