"""The naive way forward puts parts together along the last axis, whatever the array is like."""

import numpy as np
import pytest
from model.func_impl import naive_collect_forward_input, naive_collect_forward_output

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("collect", [naive_collect_forward_input, naive_collect_forward_output])
@pytest.mark.parametrize("shape", [(6, 4), (1, 1), (3, 2, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_rank_gets_the_whole(comm, collect, shape, dtype):
    rank, ranks = comm.Get_rank(), comm.Get_size()
    whole = np.random.default_rng(7).random((*shape[:-1], shape[-1] * ranks)).astype(dtype)
    part = np.split(whole, ranks, axis=-1)[rank]  # a view with gaps in memory
    for mine in (part, np.asfortranarray(part)):
        before = mine.copy()
        found = collect(mine, mp_comm=comm, mp_size=ranks)
        assert np.array_equal(found, whole) and found.dtype == dtype and found.flags.c_contiguous
        assert np.array_equal(mine, before), "the input must stay as it is"
