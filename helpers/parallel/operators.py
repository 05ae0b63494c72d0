"""Collectives inside autograd, in pairs: the backward of one is the forward of the other.

    copy_to_group      identity,        backward all-reduce         f of Megatron-LM
    reduce_from_group  all-reduce,      backward identity           g
    all_gather         all-gather,      backward reduce-scatter     its sequence-parallel forms
    reduce_scatter     reduce-scatter,  backward all-gather
    split_to_group     own part,        backward all-gather
    gather_from_group  all-gather,      backward own part

Which one is right depends on what follows. Where every rank computes something else with the
gathered tensor (its part of a layer), each has a part of the gradient's sum: `all_gather`. Where
all compute the same with it, each has the whole gradient already: `gather_from_group`.

f and g: Shoeybi et al. 2019, arXiv 1909.08053, figure 3; the others: Korthikanti et al. 2022,
arXiv 2205.05198, figures 5 and 6.
"""

from collections.abc import Callable
from typing import Any

import torch

from helpers.parallel.collectives import gathered, part_of, summed, summed_part

Move = Callable[[torch.Tensor], torch.Tensor]


class _Pair(torch.autograd.Function):
    """One move of a tensor forward, and another one of its gradient backward."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, ahead: Move, back: Move) -> torch.Tensor:
        ctx.back = back
        return ahead(x)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        return ctx.back(gradient), None, None


def _as_it_is(x: torch.Tensor) -> torch.Tensor:
    return x.view_as(x)  # another tensor on the same memory, as autograd wants it


def copy_to_group(x: torch.Tensor, group: Any = None) -> torch.Tensor:
    """x, equal on all ranks, before each computes another part of a layer with it."""
    return _Pair.apply(x, _as_it_is, lambda g: summed(g, group))


def reduce_from_group(x: torch.Tensor, group: Any = None) -> torch.Tensor:
    """The sum of all ranks' terms; then all go on with the same."""
    return _Pair.apply(x, lambda t: summed(t, group), _as_it_is)


def all_gather(x: torch.Tensor, group: Any = None, dim: int = -1) -> torch.Tensor:
    """All parts along `dim`, before each rank computes another part of a layer with them."""
    return _Pair.apply(x, lambda t: gathered(t, group, dim), lambda g: summed_part(g, group, dim))


def reduce_scatter(x: torch.Tensor, group: Any = None, dim: int = -1) -> torch.Tensor:
    """This rank's part along `dim` of the sum of all ranks' terms."""
    return _Pair.apply(x, lambda t: summed_part(t, group, dim), lambda g: gathered(g, group, dim))


def split_to_group(x: torch.Tensor, group: Any = None, dim: int = -1) -> torch.Tensor:
    """This rank's part along `dim` of x, which is equal on all ranks."""
    return _Pair.apply(x, lambda t: part_of(t, group, dim), lambda g: gathered(g, group, dim))


def gather_from_group(x: torch.Tensor, group: Any = None, dim: int = -1) -> torch.Tensor:
    """All parts along `dim`; then all ranks go on with the same."""
    return _Pair.apply(x, lambda t: gathered(t, group, dim), lambda g: part_of(g, group, dim))
