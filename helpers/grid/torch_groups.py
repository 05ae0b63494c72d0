"""The groups of a grid as torch's own: process groups, and a DeviceMesh.

torch is imported when one is made, and not before.
"""

from dataclasses import dataclass
from typing import Any

from helpers.grid.grid import DIMENSIONS, Grid


@dataclass(frozen=True)
class Groups:
    """The process groups that this rank belongs to: hand them to `all_reduce` and the like."""

    dp: Any
    pp: Any
    tp: Any


def make_groups(grid: Grid) -> Groups:
    """Make all groups of a grid, on every rank, and give those of this rank.

    Every rank must call it, for torch makes a group only when all ranks ask for it, those outside
    of it too, and in the same order: first the DP groups, then PP, then TP.

    Raises ValueError if the grid is not of as many ranks as there are, RuntimeError if the ranks
    are not connected yet.
    """
    dist = _connected(grid, "make_groups(grid)")
    mine = {}
    for dimension in DIMENSIONS:
        for ranks in grid.groups(dimension):
            group = dist.new_group(list(ranks))
            if dist.get_rank() in ranks:
                mine[dimension] = group
    return Groups(**mine)


def device_mesh(grid: Grid, device_type: str = "cpu"):
    """The grid as torch's DeviceMesh with dimensions "dp", "pp", "tp": ``mesh["dp"]`` is a slice.

    device_type: "cpu" or "cuda". Every rank must call it. Raises as `make_groups` does.
    """
    _connected(grid, "device_mesh(grid)")
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh(device_type, grid.shape, mesh_dim_names=DIMENSIONS)


def _connected(grid: Grid, call: str):
    """torch.distributed, once it is certain that it has the grid's ranks."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError(
            f"{call} needs connected ranks, and this one is not: call it inside a launch, or after "
            "helpers.ranks.connect(place)"
        )
    grid.require(dist.get_world_size())
    return dist
