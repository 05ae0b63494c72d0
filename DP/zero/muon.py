"""Muon on ranks that own whole matrices.

Adam updates every number by itself, so a shard may be any piece of a model. Muon makes the update
of a matrix orthogonal, and for that it needs the whole matrix (Jordan 2024, kellerjordan.github.io/
posts/muon). So each rank owns some matrices, whole, and the two collectives of ZeRO-1 stay.
"""

import torch
from shards import Shards
from torch import nn
from zero1 import Zero1

CURVE = 3.4445, -4.7750, 2.0315  # a x + b x³ + c x⁵ brings each singular value closer to 1


def orthogonal(g, steps=5):
    """Return the matrix with all singular values near 1 (Newton and Schulz's iteration)."""
    a, b, c = CURVE
    x = (g.T if g.shape[0] > g.shape[1] else g) / g.norm()
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if g.shape[0] > g.shape[1] else x


class Muon(torch.optim.Optimizer):
    """`torch.optim.Muon` without weight decay, in the precision of its parameters."""

    def __init__(self, matrices, lr=0.02, momentum=0.95):
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, keep = group["lr"], group["momentum"]
            for p in group["params"]:
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                mean.lerp_(p.grad, 1 - keep)
                update = orthogonal(p.grad.lerp(mean, keep))
                p -= lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * update


class Owned(Shards):
    """Shards whose borders are borders of matrices: each parameter lies in one rank's part."""

    def layout(self, lengths):
        """Give each parameter, the longest first, to the rank that has least; pad to the most."""
        filled, places = [0] * self.size, {}
        for n in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
            rank = filled.index(min(filled))
            places[n] = rank, filled[rank]
            filled[rank] += lengths[n]
        return [places[n][0] * max(filled) + places[n][1] for n in range(len(lengths))], max(filled)

    def own(self, part):
        """Return views of this rank's part, or of its gradient: the matrices that it owns."""
        first = self.rank * len(part)
        pairs = zip(self.starts, self.parameters, strict=True)
        mine = [(s - first, p) for s, p in pairs if 0 <= s - first < len(part)]
        return [part[start : start + p.numel()].view(p.shape) for start, p in mine]


class ZeroMuon(Zero1):
    """ZeRO-1 for matrices that aren't cut. matrices: those of all hidden layers."""

    def __init__(self, matrices, make_optimizer, recorder, group=None):
        self.unit = Owned(matrices, recorder, group=group)
        self.owned = [nn.Parameter(view) for view in self.unit.own(self.unit.mine.data)]
        self.optimizer = make_optimizer(self.owned)

    def step(self):
        self.unit.average()
        for p, gradient in zip(self.owned, self.unit.own(self.unit.mine.grad), strict=True):
            p.grad = gradient
        self.optimizer.step()
        self.unit.gather()
        self.unit.mine.grad = None
