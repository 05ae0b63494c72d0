"""The two rivals of the ring: exchange positions for heads, or gather all keys and values.

DeepSpeed-Ulysses (Jacobs et al. 2023, arXiv 2309.14509): before attention each rank has all heads
of some positions, during it all positions of some heads. Two all-to-alls change from one to the
other. Llama 3 (arXiv 2407.21783, section 3.3.2) gathers keys and values, which grouped queries make
small, and keeps its own queries.
"""

import torch
import torch.distributed as dist

from helpers.parallel import all_gather, require_heads
from helpers.parallel.context import require_plain, visible
from simplellm.blocks import attend


def all_to_all(x, group, split, join):
    """Return this rank's part, along dimension `split`, of every rank's x, side by side along
    dimension `join`."""
    parts = torch.stack(x.chunk(dist.get_world_size(group), split))
    arrived = torch.empty_like(parts)
    dist.all_to_all_single(arrived, parts, group=group)
    return torch.cat(list(arrived), join)


class Exchange(torch.autograd.Function):
    """The same inside autograd: the way back is the all-to-all with the dimensions swapped."""

    @staticmethod
    def forward(ctx, x, group, split, join):
        ctx.way = group, split, join
        return all_to_all(x, group, split, join)

    @staticmethod
    def backward(ctx, gradient):
        group, split, join = ctx.way
        return all_to_all(gradient, group, join, split), None, None, None


def ulysses_attention(group, documents=None):
    """Return what takes the place of `attend`; q is (B, h, S, d), k and v are (B, g, S, d).

    Each rank holds a contiguous part of the positions.
    """

    def mix(q, k, v, dropout=0.0, causal=True):
        require_plain(dropout, causal)
        ranks = dist.get_world_size(group)
        require_heads([q.shape[1]], ranks)
        if k.shape[1] % ranks:  # fewer key heads than ranks: some ranks get the same one
            if ranks % k.shape[1]:
                raise ValueError(
                    f"{k.shape[1]} key heads and {ranks} ranks: one must divide the other"
                )
            k, v = (t.repeat_interleave(ranks // k.shape[1], 1) for t in (k, v))
        q, k, v = (Exchange.apply(t, group, 1, 2) for t in (q, k, v))
        mask = None
        if documents is not None:
            everything = torch.arange(q.shape[2], device=q.device)
            mask = visible(everything, everything, documents)
        return Exchange.apply(attend(q, k, v, mask=mask), group, 2, 1)

    return mix


def gathered_attention(group, positions, documents=None):
    """Return what takes the place of `attend`; positions: for each rank those that it holds."""
    mask = visible(positions[dist.get_rank(group)], torch.cat(positions), documents)

    def mix(q, k, v, dropout=0.0, causal=True):
        require_plain(dropout, causal)
        k, v = (all_gather(t, group, 2) for t in (k, v))
        return attend(q, k, v, mask=mask)

    return mix
