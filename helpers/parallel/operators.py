"""Collectives inside autograd, in pairs: the backward of one is the forward of the other.

    copy_to_group      identity,        backward all-reduce         f of Megatron-LM
    reduce_from_group  all-reduce,      backward identity           g
    all_gather         all-gather,      backward reduce-scatter     its sequence-parallel forms
    reduce_scatter     reduce-scatter,  backward all-gather
    split_to_group     own part,        backward all-gather
    gather_from_group  all-gather,      backward own part

Which one is right depends on what follows. If every rank computes something different with the
gathered tensor (its part of a layer), each holds one term of the gradient's sum: `all_gather`. If
all compute the same with it, each already holds the whole gradient: `gather_from_group`.

f and g: Shoeybi et al. 2019, arXiv 1909.08053, figure 3; the others: Korthikanti et al. 2022,
arXiv 2205.05198, figures 5 and 6.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

Move = Callable[[torch.Tensor], torch.Tensor]


# On plain tensors: each returns a new tensor and leaves its argument unchanged.


def size_of(group: Any) -> int:
    """Return how many ranks share the layers; 1 if no ranks are connected."""
    return dist.get_world_size(group) if dist.is_initialized() else 1


def place_in(group: Any) -> int:
    """Return this rank's number in the group, from 0."""
    return dist.get_rank(group) if dist.is_initialized() else 0


def summed(x: torch.Tensor, group: Any) -> torch.Tensor:
    """All-reduce: return the sum of all ranks' x, on every rank."""
    total = x.contiguous().clone()
    if size_of(group) > 1:
        dist.all_reduce(total, group=group)
    return total


def add_up(tensors: list[torch.Tensor], group: Any) -> None:
    """Set each tensor to its sum over all ranks, with one all-reduce for all of them."""
    if tensors:
        total = summed(torch.cat([tensor.flatten() for tensor in tensors]), group)
        parts = total.split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))


def part_of(x: torch.Tensor, group: Any, dim: int) -> torch.Tensor:
    """Return this rank's part of x, one of as many equal parts along `dim` as ranks; no message."""
    ranks = size_of(group)
    if x.shape[dim] % ranks:
        raise ValueError(
            f"dimension {dim} of a tensor of shape {tuple(x.shape)} cannot be cut into {ranks} "
            f"equal parts: take a number that {ranks} divides"
        )
    return x.chunk(ranks, dim)[place_in(group)].contiguous()


def gathered(x: torch.Tensor, group: Any, dim: int) -> torch.Tensor:
    """All-gather: return all ranks' x, concatenated along `dim`, on every rank."""
    if size_of(group) == 1:
        return x.clone()
    x = x.contiguous()
    parts = [torch.empty_like(x) for _ in range(size_of(group))]
    dist.all_gather(parts, x, group=group)
    return torch.cat(parts, dim)


def summed_part(x: torch.Tensor, group: Any, dim: int) -> torch.Tensor:
    """Reduce-scatter: return this rank's part, along `dim`, of the sum of all ranks' x."""
    mine = part_of(x, group, dim).clone()
    if size_of(group) > 1:
        parts = [part.contiguous() for part in x.chunk(size_of(group), dim)]
        dist.reduce_scatter(mine, parts, group=group)
    return mine


# Inside autograd.


class _Pair(torch.autograd.Function):
    """One collective on a tensor in forward, and another on its gradient in backward."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, ahead: Move, back: Move) -> torch.Tensor:
        ctx.back = back
        return ahead(x)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        return ctx.back(gradient), None, None


def _as_it_is(x: torch.Tensor) -> torch.Tensor:
    return x.view_as(x)  # a new tensor on the same memory, as autograd requires


def copy_to_group(x: torch.Tensor, group: Any = None) -> torch.Tensor:
    """Return x, equal on all ranks, for a layer of which each rank computes another part."""
    return _Pair.apply(x, _as_it_is, lambda g: summed(g, group))


def reduce_from_group(x: torch.Tensor, group: Any = None) -> torch.Tensor:
    """Return the sum of all ranks' terms, with which all ranks then compute the same."""
    return _Pair.apply(x, lambda t: summed(t, group), _as_it_is)


def all_gather(x: torch.Tensor, group: Any = None, dim: int = -1) -> torch.Tensor:
    """Return all parts along `dim`, for a layer of which each rank computes another part."""
    return _Pair.apply(x, lambda t: gathered(t, group, dim), lambda g: summed_part(g, group, dim))


def reduce_scatter(x: torch.Tensor, group: Any = None, dim: int = -1) -> torch.Tensor:
    """Return this rank's part along `dim` of the sum of all ranks' terms."""
    return _Pair.apply(x, lambda t: summed_part(t, group, dim), lambda g: gathered(g, group, dim))


def split_to_group(x: torch.Tensor, group: Any = None, dim: int = -1) -> torch.Tensor:
    """Return this rank's part along `dim` of x, which is equal on all ranks."""
    return _Pair.apply(x, lambda t: part_of(t, group, dim), lambda g: gathered(g, group, dim))


def gather_from_group(x: torch.Tensor, group: Any = None, dim: int = -1) -> torch.Tensor:
    """Return all parts along `dim`, with which all ranks then compute the same."""
    return _Pair.apply(x, lambda t: gathered(t, group, dim), lambda g: part_of(g, group, dim))
