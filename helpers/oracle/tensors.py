"""Sums and means of tensors by name, as one device computes them: in float64, then rounded."""

from collections.abc import Sequence

import torch

from helpers.oracle.compare import Tensors


def combine(parts: Sequence[Tensors], weights: Sequence[float]) -> dict[str, torch.Tensor | None]:
    """The sum of weight * tensor, by name, in the dtype of the parts.

    None counts as zeros; it stays None where no part has the tensor.
    """
    total = {}
    for name in parts[0]:
        there = [(p[name], w) for p, w in zip(parts, weights, strict=True) if p[name] is not None]
        total[name] = (
            sum(tensor.double() * weight for tensor, weight in there).to(there[0][0].dtype)
            if there
            else None
        )
    return total


def mean_of(parts: Sequence[Tensors], weights: Sequence[float] | None = None) -> Tensors:
    """The mean by name; weighted where `weights` are given."""
    weights = [1.0] * len(parts) if weights is None else weights
    return combine(parts, [weight / sum(weights) for weight in weights])


def scaled(tensors: Tensors, factor: float) -> Tensors:
    """Every tensor times a factor."""
    return combine([tensors], [factor])


def on_ranks(ranks: Sequence[Tensors]) -> dict[str, torch.Tensor | None]:
    """The tensors of all ranks in one dict: "weight on rank 1"."""
    return {
        f"{name} on rank {rank}": tensor
        for rank, tensors in enumerate(ranks)
        for name, tensor in tensors.items()
    }


def flat(tensor: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    """All entries in one float64 vector; None as zeros."""
    return (torch.zeros_like(like) if tensor is None else tensor).double().flatten()


def is_zero(tensor: torch.Tensor | None) -> bool:
    """Whether there is nothing, or zeros alone."""
    return tensor is None or not bool(tensor.any())
