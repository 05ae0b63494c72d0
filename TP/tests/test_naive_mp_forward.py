"""Naive, forward: parts are put together along the last axis, whatever the array is like."""

import numpy as np
import pytest
from model.func_impl import naive_collect_forward_input, naive_collect_forward_output

pytestmark = pytest.mark.mpi
SHAPES = [(6, 4), (1, 1), (3, 2, 5)]


def whole(shape, ranks, dtype):
    rng = np.random.default_rng(7)
    return (100 * rng.random((*shape[:-1], shape[-1] * ranks))).astype(dtype)


def part_of(array, rank, ranks):
    return np.split(array, ranks, axis=-1)[rank]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_rank_gets_the_whole(comm, shape, dtype):
    rank, ranks = comm.Get_rank(), comm.Get_size()
    right = whole(shape, ranks, dtype)
    mine = part_of(right, rank, ranks)  # a view with gaps in memory
    before = mine.copy()
    for collected in (
        naive_collect_forward_input(x=mine, mp_comm=comm, mp_size=ranks),
        naive_collect_forward_output(out=mine, mp_comm=comm, mp_size=ranks),
    ):
        assert np.array_equal(collected, right) and collected.dtype == dtype
        assert collected.flags.c_contiguous
    assert np.array_equal(mine, before), "the input must stay as it is"


def test_an_array_that_lies_the_other_way_round_in_memory(world):
    ranks = world.Get_size()
    right = whole((4, 6), ranks, np.float64)
    mine = np.asfortranarray(part_of(right, world.Get_rank(), ranks))
    found = naive_collect_forward_input(x=mine, mp_comm=world, mp_size=ranks)
    assert np.array_equal(found, right)
