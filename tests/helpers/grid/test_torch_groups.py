"""The groups as torch makes them, on real ranks."""

import pytest

from helpers.grid import Grid, device_mesh, make_groups
from helpers.ranks import launch


def sums(shape):
    """For each dimension the sum of all ranks in this rank's group, by groups and by the mesh."""
    import torch
    import torch.distributed as dist

    from helpers.grid import Grid, device_mesh, make_groups

    grid = Grid(*shape)
    groups, mesh = make_groups(grid), device_mesh(grid)
    found = {}
    for dimension in ("dp", "pp", "tp"):
        for group in (getattr(groups, dimension), mesh.get_group(dimension)):
            total = torch.tensor(float(dist.get_rank()))
            dist.all_reduce(total, group=group)
            found.setdefault(dimension, []).append(total.item())
    try:
        make_groups(Grid(3, 3, 1))
    except ValueError as error:
        found["error"] = str(error)
    return found


def test_each_rank_is_in_the_groups_that_the_grid_says():
    grid = Grid(2, 2, 1)
    for rank, found in enumerate(launch(sums, ranks=4, args=(grid.shape,), timeout=90)):
        for dimension in ("dp", "pp", "tp"):
            expected = float(sum(grid.group(rank, dimension)))
            assert found[dimension] == [expected, expected], (rank, dimension)
        assert found["error"].startswith("3 x 3 x 1 is 9 ranks, and there are 4")


@pytest.mark.parametrize("make", [make_groups, device_mesh])
def test_ranks_must_be_connected_first(make):
    with pytest.raises(RuntimeError, match=rf"{make.__name__}\(grid\) needs connected ranks"):
        make(Grid())
