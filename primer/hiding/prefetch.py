"""FSDP that gathers a unit's weights before they're needed.

Each rank keeps a part of every weight (ZeRO-3, lesson 13). A unit of the model gathers its own just
before it computes and frees them afterward. If the gather begins while another unit computes, it
costs no time; but then more than one unit is in memory at once.
"""

import torch
import torch.distributed as dist


class Unit:
    """A module of which this rank keeps a part of the weights, and all of them only while needed.

    seconds: of its forward pass, on paced ranks; backward takes twice as long.
    """

    alive = most = 0  # units in memory now, and at most, in this process

    def __init__(self, module, rank, seconds=0.0):
        self.module, self.rank, self.seconds = module, rank, seconds
        parameters = list(module.parameters())
        flat = torch.cat([p.detach().flatten() for p in parameters])
        self.whole = torch.nn.functional.pad(flat, (0, -len(flat) % rank.size))
        self.mine = self.whole.chunk(rank.size)[rank.number].clone()
        parts = self.whole.split([p.numel() for p in parameters] + [len(self.whole) - len(flat)])
        for p, part in zip(parameters, parts, strict=False):
            p.data = part.view_as(p)
        self.bytes = self.whole.nbytes
        self.whole.untyped_storage().resize_(0)

    @property
    def in_memory(self):  # or on their way
        return self.whole.untyped_storage().nbytes() > 0

    def start(self):
        """Start to gather the weights, and return a function that waits until they're here."""
        self.whole.untyped_storage().resize_(self.bytes)
        Unit.alive += 1
        Unit.most = max(Unit.most, Unit.alive)

        def post():
            return [dist.all_gather_into_tensor(self.whole, self.mine, async_op=True)], None

        others = self.bytes * (self.rank.size - 1) / self.rank.size
        return self.rank.send(others, post, kind="all-gather")

    def free(self):
        self.whole.untyped_storage().resize_(0)
        Unit.alive -= 1

    def forward(self, x):
        self.x = x.detach().requires_grad_()
        self.y = self.rank.compute(self.seconds, self.module, self.x)
        return self.y.detach()

    def backward(self, gradient):
        self.rank.compute(2 * self.seconds, self.y.backward, gradient, kind="B")
        return self.x.grad


class Prefetch:
    """Which units' weights are gathered when. ahead: how many units early, 0 for none."""

    def __init__(self, units, ahead=1):
        self.units, self.ahead = units, ahead
        self.arriving = {}  # the number of a unit -> what waits for its weights

    def need(self, n, backward=False):
        """Have the weights of unit n here, and those of the next `ahead` units on their way.

        It's called before unit n computes, for n = 0, 1, … forward and for n = …, 1, 0 backward.
        `unit.start()` starts a gather and returns a function that waits for it. Start none for a
        unit that is `in_memory`, and wait for unit n only.
        """
        step = -1 if backward else 1
        for k in range(n, n + step * (self.ahead + 1), step):
            if 0 <= k < len(self.units) and not self.units[k].in_memory:
                self.arriving[k] = self.units[k].start()
        if n in self.arriving:
            self.arriving.pop(n)()

    def done(self, n, backward=False):
        """Free unit n, which has computed, unless it's the next that is needed."""
        if backward or n < len(self.units) - 1:
            self.units[n].free()


def step(units, prefetch, x):
    """Take a batch forward and backward through the units; return the result and x's gradient.

    The loss is half the sum of the results' squares, so its gradient is the result.
    """
    for n, unit in enumerate(units):
        prefetch.need(n)
        x = unit.forward(x)
        prefetch.done(n)
    gradient = x
    for n, unit in reversed([*enumerate(units)]):
        prefetch.need(n, backward=True)
        gradient = unit.backward(gradient)
        prefetch.done(n, backward=True)
    return x, gradient
