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

from helpers.parallel.collectives import gathered, part_of, summed, summed_part

Move = Callable[[torch.Tensor], torch.Tensor]


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
