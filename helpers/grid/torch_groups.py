"""The groups of a grid as torch process groups. torch is imported only when they are created."""

from typing import Any, NamedTuple

from helpers.grid.grid import DIMENSIONS, Grid


class Groups(NamedTuple):
    """The process groups of this rank: pass them to `all_reduce` and other collectives."""

    dp: Any
    pp: Any
    tp: Any
    cp: Any


def make_groups(grid: Grid) -> Groups:
    """Create all groups of a grid, on every rank, and return those of this rank.

    Every rank must call it, because torch creates a group only if all ranks ask for it (also those
    outside it) and in the same order: first the DP groups, then PP, CP and TP.

    Raises:
        ValueError: if the number of connected ranks differs from the grid's.
        RuntimeError: if the ranks are not connected yet.
    """
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError(
            "make_groups(grid) needs connected ranks, and this one is not: call it inside a "
            "launch, or after helpers.ranks.connect(place)"
        )
    grid.require(dist.get_world_size())
    mine = {}
    for dimension in DIMENSIONS:
        for ranks in grid.groups(dimension):
            group = dist.new_group(list(ranks))
            if dist.get_rank() in ranks:
                mine[dimension] = group
    return Groups(**mine)
