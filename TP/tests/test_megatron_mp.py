"""Megatron's way adds up once, after the second layer; weight gradients are summed over copies."""

import numpy as np
import pytest
from model import func_impl

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_terms_of_the_output_and_the_gradients_of_the_copies_are_added(comm, dtype):
    ranks = comm.Get_size()
    each = [np.random.default_rng(r).integers(-9, 9, (4, 3)).astype(dtype) for r in range(ranks)]
    right, mine = sum(each), np.asfortranarray(each[comm.Get_rank()])
    output = func_impl.megatron_collect_forward_output(out=mine, mp_comm=comm, mp_size=ranks)
    gradients = func_impl.collect_weight_grad(grad_w=mine, grad_b=mine[0], dp_comm=comm)
    for found, wanted in zip((output, *gradients), (right, right, right[0]), strict=True):
        assert np.array_equal(found, wanted) and found.dtype == dtype
    assert np.array_equal(mine, each[comm.Get_rank()]), "the input must stay as it is"


def test_the_rest_stays_where_it_is(comm):
    x = np.arange(6.0).reshape(2, 3)
    rest = {"mp_comm": comm, "mp_size": comm.Get_size()}
    assert np.array_equal(func_impl.megatron_collect_forward_input(x=x, **rest), x)
    assert np.array_equal(func_impl.megatron_collect_backward_x(grad_x=x, **rest), x)
    place = {"mp_group_idx": comm.Get_rank(), "mp_size": comm.Get_size()}
    assert np.array_equal(func_impl.megatron_collect_backward_output(output_grad=x, **place), x)
