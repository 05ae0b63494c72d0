"""Facts of all ranks together; of this process alone where there is no process group."""

from typing import Any

import torch
import torch.distributed as dist
from torch import nn


def number_of_ranks() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def across_ranks(sums: torch.Tensor) -> torch.Tensor:
    """The sum over all ranks, in place."""
    if number_of_ranks() > 1:
        dist.all_reduce(sums)
    return sums


def most_steps(mine: int) -> int:
    """The largest number of steps that a rank has."""
    steps = torch.tensor(mine)
    if number_of_ranks() > 1:
        dist.all_reduce(steps, dist.ReduceOp.MAX)
    return int(steps)


def everyone(thing: Any) -> list[Any]:
    """What each rank gave, in the order of the ranks, on every rank."""
    if number_of_ranks() == 1:
        return [thing]
    things = [None] * number_of_ranks()
    dist.all_gather_object(things, thing)
    return things


def same_weights(model: nn.Module) -> None:
    """Rank 0's weights on every rank, and a check that they arrived: RuntimeError if not."""
    if number_of_ranks() == 1:
        return
    with torch.no_grad():
        for p in model.parameters():
            dist.broadcast(p, 0)
    facts = everyone([p.detach().double().sum().item() for p in model.parameters()])
    for rank, fact in enumerate(facts):
        if fact != facts[0]:
            raise RuntimeError(f"rank {rank} begins with other weights than rank 0")
