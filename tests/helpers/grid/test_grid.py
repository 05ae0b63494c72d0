"""A grid's picture, its errors and torch's groups. (tests/test_layouts: it is an array.)"""

import pytest
import torch
import torch.distributed as dist

from helpers.grid import DIMENSIONS, Grid, make_groups
from helpers.ranks import launch

pytestmark = pytest.mark.ranks


def test_its_picture_in_text():
    assert str(Grid(2, 2, 2)).splitlines() == [
        "            stage 0   stage 1",
        "replica 0   0 1       2 3",
        "replica 1   4 5       6 7",
    ]
    assert str(Grid(dp=11)).splitlines()[-1] == "replica 10   10"


def test_what_is_not_there_is_refused():
    for wrong, words in (
        (lambda: Grid(2, 3, 1).require(4), "are 4: start 6 ranks, or choose dp x pp x tp = 4$"),
        (lambda: Grid(pp=2).require(1), "1 x 2 x 1 is 2 ranks, and there is 1: start 2 ranks"),
        (lambda: Grid(2, cp=2).require(6), "2 x 1 x 1 x 2 is 4.*choose dp x pp x tp x cp = 6"),
        (lambda: Grid(pp=0), r"Grid\(pp=0\): give a whole number, 1 or more"),
        (lambda: Grid(2, 2).rank(dp=2), "no place dp=2: dp is 0 to 1"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()


def sums():
    """For each dimension the sum of all ranks in this rank's group."""
    groups, found = make_groups(Grid(2, 1, 1, cp=2)), {}
    for dimension in DIMENSIONS:
        total = torch.tensor(dist.get_rank())
        dist.all_reduce(total, group=getattr(groups, dimension))
        found[dimension] = total.item()
    return found


def test_each_rank_is_in_the_groups_that_the_grid_says():
    grid = Grid(2, 1, 1, cp=2)
    assert grid.groups("dp") == [(0, 2), (1, 3)]
    for rank, found in enumerate(launch(sums, ranks=4)):
        assert found == {name: sum(grid.group(rank, name)) for name in DIMENSIONS}
