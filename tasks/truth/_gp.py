"""Linear layers, and the clock of a pipeline: for the tasks on `Pipe`."""

import torch


def linear_layers(draw, count=2):
    """The weights of layers of 3 x 3."""
    return [
        {"weight": torch.randn(3, 3, generator=draw), "bias": torch.randn(3, generator=draw)}
        for _ in range(count)
    ]


def through(layers, x):
    """What the layers make of x, one after the other."""
    for layer in layers:
        x = torch.nn.functional.linear(x, **layer)
    return x


def clock(batches, parts):
    """The (micro-batch, part) of each tick: micro-batch i is in part j at tick i + j."""
    return [
        [(k - j, j) for j in range(parts) if 0 <= k - j < batches]
        for k in range(batches + parts - 1)
    ]
