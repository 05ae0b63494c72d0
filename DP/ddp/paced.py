"""A model whose layers take a chosen time and compute nothing: what is left is the averaging.

Ranks that sleep don't compete for a core, so a step takes what it would take on as many machines
(as with `helpers.pipeline.Pace`). Autograd, its hooks, the buckets and the messages are real.
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


class Paced(nn.Module):
    """Equal layers that take `forward` and `backward` seconds together. Call it with (1,) numbers.

    numbers: of all layers together, 4 bytes each. slow: see `Clock`. launch: seconds before each
    part of a layer is under way. recorder: notes the parts.
    """

    def __init__(self, layers, numbers, forward, backward, slow=1.0, launch=0.0, recorder=None):
        super().__init__()
        self.weights = nn.ParameterList(torch.zeros(numbers // layers) for _ in range(layers))
        self.seconds = {"F": forward / layers, "B": backward / layers}
        self.clock, self.launch = Clock(slow), launch
        self.recorder = recorder or Recorder(0, enabled=False)

    def forward(self, x):
        for layer, weight in enumerate(self.weights):
            self.work(layer, "F")
            x = x + 0 * weight.sum()
            x.register_hook(lambda _, layer=layer: self.work(layer, "B"))
        return x

    def work(self, layer, kind):
        self.clock.work(self.launch)
        with self.recorder.span(kind, layer=layer):
            self.clock.work(self.seconds[kind])
