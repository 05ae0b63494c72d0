"""Collectives on plain tensors: each returns a new tensor and leaves its argument unchanged."""

from typing import Any

import torch
import torch.distributed as dist


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
    """Return this rank's part of x, one of as many equal parts along `dim` as ranks; no message.

    Raises:
        ValueError: if the number of ranks does not divide the dimension.
    """
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
    parts = [
        torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(size_of(group))
    ]
    dist.all_gather(parts, x.contiguous(), group=group)
    return torch.cat(parts, dim)


def summed_part(x: torch.Tensor, group: Any, dim: int) -> torch.Tensor:
    """Reduce-scatter: return this rank's part, along `dim`, of the sum of all ranks' x."""
    mine = part_of(x, group, dim)
    if size_of(group) == 1:
        return mine.clone()
    parts = [part.contiguous() for part in x.chunk(size_of(group), dim)]
    found = torch.empty_like(mine)
    dist.reduce_scatter(found, parts, group=group)
    return found
