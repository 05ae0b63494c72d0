"""The groups as torch makes them, on real ranks."""

import pytest

from helpers.grid import Grid, make_groups
from helpers.ranks import launch


def sums(shape):
    """For each dimension the sum of all ranks in this rank's group."""
    import torch
    import torch.distributed as dist

    from helpers.grid import Grid, make_groups

    grid = Grid(*shape)
    groups, found = make_groups(grid), {}
    for dimension in ("dp", "pp", "tp"):
        total = torch.tensor(float(dist.get_rank()))
        dist.all_reduce(total, group=getattr(groups, dimension))
        found[dimension] = total.item()
    try:
        make_groups(Grid(3, 3, 1))
    except ValueError as error:
        found["error"] = str(error)
    return found


def test_each_rank_is_in_the_groups_that_the_grid_says():
    grid = Grid(2, 2, 1)
    for rank, found in enumerate(launch(sums, ranks=4, args=(grid.shape,), timeout=90)):
        for dimension in ("dp", "pp", "tp"):
            assert found[dimension] == sum(grid.group(rank, dimension)), (rank, dimension)
        assert found["error"].startswith("3 x 3 x 1 is 9 ranks, and there are 4")


def test_ranks_must_be_connected_first():
    with pytest.raises(RuntimeError, match=r"make_groups\(grid\) needs connected ranks"):
        make_groups(Grid())
