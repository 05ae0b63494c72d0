"""A grid's picture, its errors and torch's groups. (tests/test_layouts: it is an array.)"""

import pytest
import torch
import torch.distributed as dist

from helpers.grid import Grid, make_groups
from helpers.ranks import launch

pytestmark = pytest.mark.ranks


def test_its_picture_in_text():
    assert str(Grid(2, 2, 2)).splitlines() == [
        "            stage 0   stage 1",
        "replica 0   0 1       2 3",
        "replica 1   4 5       6 7",
    ]
    assert str(Grid(dp=11)).splitlines()[-1] == "replica 10   10"


def test_as_many_ranks_as_there_are():
    grid = Grid(2, 3, 1)
    assert grid.require(6) is grid
    with pytest.raises(ValueError) as caught:
        grid.require(4)
    assert str(caught.value) == (
        "2 x 3 x 1 is 6 ranks, and there are 4: start 6 ranks, or choose dp x pp x tp = 4"
    )
    with pytest.raises(ValueError, match="1 x 2 x 1 is 2 ranks, and there is 1: start 2 ranks"):
        Grid(pp=2).require(1)
    with pytest.raises(ValueError, match="2 x 1 x 1 x 4 is 8 ranks.*choose dp x pp x tp x cp = 6"):
        Grid(dp=2, cp=4).require(6)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda: Grid(pp=0), r"Grid\(pp=0\): give a whole number, 1 or more"),
        (lambda: Grid(tp=1.5), r"Grid\(tp=1.5\): give a whole number"),
        (lambda: Grid(2, 2).coordinates(4), "no rank 4: this grid has ranks 0 to 3"),
        (lambda: Grid(2, 2).rank(dp=2), "no place dp=2: dp is 0 to 1"),
        (lambda: Grid(2, 2).rank(tp=1), "no place tp=1: tp is 0 to 0"),
        (lambda: Grid(2, 2).group(0, "ep"), "no dimension 'ep': choose from"),
    ],
)
def test_what_is_not_there_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()


def sums(shape):
    """For each dimension the sum of all ranks in this rank's group."""
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
