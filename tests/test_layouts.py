"""A grid of ranks is an array, and a cut into stages is even: nothing is lost or there twice."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.grid import DIMENSIONS, Grid
from simplellm.slicing import layer_counts
from tests.drawn import examples
from tests.said import said

few = st.integers(1, 4)


@examples(60)
@given(st.tuples(few, few, few, few))
def test_a_rank_of_a_grid_is_an_element_of_an_array_and_a_group_is_a_slice(shape):
    grid = Grid(**dict(zip(DIMENSIONS, shape, strict=True)))
    array = np.arange(np.prod(shape)).reshape(shape)
    assert grid.size == array.size and grid.require(array.size) is grid
    for place in np.ndindex(*shape):
        rank = array[place]
        named = dict(zip(DIMENSIONS, place, strict=True))
        assert grid.coordinates(rank)._asdict() == named and grid.rank(**named) == rank
        for axis, dimension in enumerate(DIMENSIONS):
            along = tuple(slice(None) if n == axis else at for n, at in enumerate(place))
            assert grid.group(rank, dimension) == tuple(array[along])
    for outside in (-1, grid.size):
        assert f"there is no rank {outside}" in said(grid.coordinates, outside)


def test_a_grid_has_a_picture_in_text():
    assert str(Grid(2, 2, 2)).splitlines() == [
        "            stage 0   stage 1",
        "replica 0   0 1       2 3",
        "replica 1   4 5       6 7",
    ]
    assert str(Grid(dp=11)).splitlines()[-1] == "replica 10   10"


def test_ranks_and_places_that_a_grid_does_not_have_are_refused():
    for wrong, words in (
        (lambda: Grid(2, 3, 1).require(4), "are 4: start 6 ranks, or choose dp x pp x tp = 4"),
        (lambda: Grid(pp=2).require(1), "1 x 2 x 1 is 2 ranks, and there is 1: start 2 ranks"),
        (lambda: Grid(2, cp=2).require(6), "choose dp x pp x tp x cp = 6"),
        (lambda: Grid(pp=0), "Grid(pp=0): give a whole number, 1 or more"),
        (lambda: Grid(2, 2).rank(dp=2), "no place dp=2: dp is 0 to 1"),
    ):
        assert words in said(wrong)


@examples(60)
@given(st.integers(1, 40), st.integers(1, 40))
def test_stages_have_equally_many_layers_or_the_first_have_one_more(layers, stages):
    if stages > layers:
        assert f"{layers} layers cannot fill {stages} st" in said(layer_counts, layers, stages)
        return
    counts = layer_counts(layers, stages)
    assert (len(counts), sum(counts)) == (stages, layers)
    assert counts == sorted(counts, reverse=True) and counts[0] - counts[-1] <= 1
