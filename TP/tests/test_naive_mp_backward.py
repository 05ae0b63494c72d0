"""The naive way backward cuts the output's gradient, and adds up and cuts the input's."""

import numpy as np
import pytest
from model.func_impl import naive_collect_backward_output, naive_collect_backward_x

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradient_of_the_output_is_cut(world, dtype):
    rank, ranks = world.Get_rank(), world.Get_size()
    grad = np.arange(5 * 3 * ranks, dtype=dtype).reshape(5, 3 * ranks)
    mine = naive_collect_backward_output(output_grad=grad, mp_group_idx=rank, mp_size=ranks)
    assert np.array_equal(mine, grad[:, 3 * rank : 3 * rank + 3]) and mine.dtype == dtype
    assert mine.flags.c_contiguous


@pytest.mark.parametrize("shape", [(5, 2), (1, 1), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_terms_of_the_inputs_gradient_are_added_and_cut(comm, shape, dtype):
    rank, ranks = comm.Get_rank(), comm.Get_size()
    full = (*shape[:-1], shape[-1] * ranks)
    terms = [np.random.default_rng(r).integers(0, 99, full).astype(dtype) for r in range(ranks)]
    transposed = np.asfortranarray(terms[rank])  # gaps in memory are not the caller's affair
    found = naive_collect_backward_x(grad_x=transposed, mp_comm=comm, mp_size=ranks)
    assert np.array_equal(found, np.split(sum(terms), ranks, axis=-1)[rank])
    assert found.dtype == dtype
