"""Experts on several ranks: send each token to where its expert is, and the result back.

With E experts on P ranks, rank r holds experts r * E / P and up. Rows that are sorted by expert are
sorted by rank too, so one all-to-all sends them all.
"""

from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn

from simplellm.moe import moe_layers, run_experts


class AllToAll(torch.autograd.Function):
    """Send give[r] rows of x to each rank r, and return the take[r] rows that come from each.

    x: (sum of give, d), the rows for the group's first rank first. Result: (sum of take, d).
    link: sends them; see `Dispatch.send`.
    """

    @staticmethod
    def forward(ctx, x, give, take, link):
        ctx.give, ctx.take, ctx.link = give, take, link
        # BEGIN SOLUTION EP-1
        return link.send(x, give, take)
        # END SOLUTION

    @staticmethod
    def backward(ctx, gradient):
        """Return four things: the gradient of x, and None for each other argument of forward."""
        # BEGIN SOLUTION EP-1
        return ctx.link.send(gradient, ctx.take, ctx.give), None, None, None
        # END SOLUTION


class Dispatch:
    """Run the experts of all ranks of a group, in the place of `simplellm.moe.run_experts`."""

    def __init__(self, group=None, recorder=None):
        self.group, self.recorder = group, recorder
        self.ranks = dist.get_world_size(group)

    def send(self, x, give, take):
        """All-to-all of rows, unknown to autograd; give, take: whole numbers, one for each rank."""
        y = x.new_empty(sum(take), *x.shape[1:])
        row = x[0].nbytes if len(x) else 0
        told = {"gives": give, "bytes": row * sum(give)}
        with self.recorder.span("all-to-all", **told) if self.recorder else nullcontext():
            dist.all_to_all_single(y, x.contiguous(), take, give, group=self.group)
        return y

    def run(self, experts, rows, counts):
        """Return what their experts make of this rank's rows, in the order of the rows.

        experts: those of this rank, E / P of them. rows: (sum of counts, d), sorted by expert.
        counts: (E,), how many of the rows are for each of the E experts.

        1. Tell each rank how many rows it gets for each of its experts: an all-to-all of `counts`,
           by `dist.all_to_all_single` in `self.group`.
        2. `AllToAll.apply(rows, give, take, self)` sends the rows; give and take are lists.
        3. They arrive sorted by sender. `run_experts(experts, rows, counts)` needs them by expert.
        4. Restore the order of arrival, and send the results back.
        """
        # BEGIN SOLUTION EP-1
        theirs = torch.empty_like(counts)
        dist.all_to_all_single(theirs, counts, group=self.group)
        theirs = theirs.view(self.ranks, -1)  # from each rank, for each expert here
        give, take = counts.view(self.ranks, -1).sum(1).tolist(), theirs.sum(1).tolist()
        arrived = AllToAll.apply(rows, give, take, self)

        numbers = torch.arange(theirs.shape[1], device=rows.device).repeat(self.ranks)
        by_expert = numbers.repeat_interleave(theirs.flatten()).argsort(stable=True)
        done = run_experts(experts, arrived[by_expert], theirs.sum(0))
        return AllToAll.apply(done[by_expert.argsort()], take, give, self)
        # END SOLUTION

    __call__ = run


def spread(net, group=None, recorder=None):
    """Keep this rank's experts of each layer, in place; let the others be asked for theirs."""
    ranks, mine = dist.get_world_size(group), dist.get_rank(group)
    for layer in moe_layers(net):
        number = len(layer.experts)
        require_divisible(number, ranks)
        first = mine * number // ranks
        own = list(layer.experts.items())[first : first + number // ranks]
        layer.experts, layer.run = nn.ModuleDict(own), Dispatch(group, recorder)


def require_divisible(experts, ranks):
    """Raise ValueError unless all ranks can hold the same number of experts."""
    if experts % ranks:
        raise ValueError(
            f"{experts} experts cannot be divided among {ranks} ranks: choose a number of experts "
            f"that {ranks} divides"
        )


def require_own_tokens(ids):
    """Raise ValueError if two ranks have the same tokens: each would be computed once a rank."""
    sums = [torch.empty(2, dtype=torch.long) for _ in range(dist.get_world_size())]
    flat = ids.flatten().cpu()
    mine = torch.stack([flat.sum(), (flat * torch.arange(1, len(flat) + 1)).sum()])
    dist.all_gather(sums, mine)
    found = [tuple(each.tolist()) for each in sums]
    twins = [rank for rank, each in enumerate(found) if found.index(each) < rank]
    if twins:
        raise ValueError(
            f"ranks {found.index(found[twins[0]])} and {twins[0]} read the same tokens: the "
            "experts would compute each of them once a rank; give every rank a part of its own "
            "(make_stories(options, tokenizer, rank, world_size))"
        )
