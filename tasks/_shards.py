"""In place of `Shards`: one rank that owns everything, and writes down what it is asked to do."""

import torch


def drawn(seed):
    """Draw layers that share no weight, the samples of two steps, and the learning rate."""
    draw = torch.Generator().manual_seed(seed)
    units, width = (int(torch.randint(3, 6, (), generator=draw)) for _ in range(2))

    def some(*shape):
        return torch.randn(shape, generator=draw, dtype=torch.float64)

    layers = [(some(width, width), some(width)) for _ in range(units)]
    return {"layers": layers, "samples": [some(4, width), some(4, width)], "lr": 0.5, "tied": False}


def stand_in(log):
    """Return a class like `Shards`. log: a list that gets ("gather", number of the unit, whether
    it was whole already) and so on.

    There is nothing to send. Weights that were freed are NaN, so that whoever computes with them
    sees it.
    """

    class Shards:
        made = 0

        def __init__(self, parameters, recorder=None, own_copy=False, group=None):
            self.parameters, self.number, self.is_whole = list(parameters), Shards.made, True
            Shards.made += 1
            self.mine = torch.nn.Parameter(self.flat([p.data for p in self.parameters]))

        def flat(self, tensors):
            return torch.cat([tensor.flatten() for tensor in tensors])

        def average(self):
            log.append(("average", self.number, None))
            known = [p.grad is not None for p in self.parameters]
            if all(known):
                self.mine.grad = self.flat([p.grad for p in self.parameters])
            for p in self.parameters:
                p.grad = None

        def gather(self):
            log.append(("gather", self.number, self.is_whole))
            self.is_whole = True
            parts = self.mine.data.split([p.numel() for p in self.parameters])
            for p, part in zip(self.parameters, parts, strict=True):
                p.data = part.view(p.shape).clone()

        def free(self):
            if self.is_whole:
                log.append(("free", self.number, None))
            self.is_whole = False
            for p in self.parameters:
                p.data = torch.full_like(p.data, float("nan"))

    return Shards


def layers_of(case, log, whole=lambda number: True):
    """Return the modules of a case, tanh(x W + b) each, which write down when they compute.

    whole: whether a unit's weights are there, by its number.
    case: weights and biases, and "tied": whether the last layer shares those of the first.
    """

    class Mark(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, number):
            ctx.number = number
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            log.append(("backward", ctx.number, whole(ctx.number)))
            return gradient, None

    class Layer(torch.nn.Module):
        def __init__(self, number, weight, bias):
            super().__init__()
            self.number, self.weight, self.bias = number, weight, bias

        def forward(self, x):
            log.append(("forward", self.number, whole(self.number)))
            return Mark.apply(torch.tanh(x @ self.weight + self.bias), self.number)

    made = [
        Layer(n, *(torch.nn.Parameter(t.clone()) for t in pair))
        for n, pair in enumerate(case["layers"])
    ]
    if case["tied"]:
        made.append(Layer(0, made[0].weight, made[0].bias))
    return made
