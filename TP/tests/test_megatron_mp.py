"""Megatron: one sum, after the second layer. And the weight gradients, summed over the copies."""

import numpy as np
import pytest
from model import func_impl
from model.func_impl import collect_weight_grad, megatron_collect_forward_output

pytestmark = pytest.mark.mpi


def terms(shape, ranks, dtype):
    return [np.random.default_rng(r).integers(-9, 9, shape).astype(dtype) for r in range(ranks)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_terms_of_the_output_are_added(comm, dtype):
    each = terms((4, 3), comm.Get_size(), dtype)
    mine = np.asfortranarray(each[comm.Get_rank()])
    found = megatron_collect_forward_output(out=mine, mp_comm=comm, mp_size=comm.Get_size())
    assert np.array_equal(found, sum(each)) and found.dtype == dtype
    assert np.array_equal(mine, each[comm.Get_rank()]), "the input must stay as it is"


def test_the_rest_stays_where_it_is(comm):
    x = np.arange(6.0).reshape(2, 3)
    rest = {"mp_comm": comm, "mp_size": comm.Get_size()}
    assert np.array_equal(func_impl.megatron_collect_forward_input(x=x, **rest), x)
    assert np.array_equal(func_impl.megatron_collect_backward_x(grad_x=x, **rest), x)
    place = {"mp_group_idx": comm.Get_rank(), "mp_size": comm.Get_size()}
    assert np.array_equal(func_impl.megatron_collect_backward_output(output_grad=x, **place), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weight_gradients_are_the_sum_over_the_copies(comm, dtype):
    ranks, rank = comm.Get_size(), comm.Get_rank()
    weights, biases = terms((3, 4), ranks, dtype), terms((4,), ranks, dtype)
    mine = np.asfortranarray(weights[rank])
    found = collect_weight_grad(grad_w=mine, grad_b=biases[rank], dp_comm=comm)
    for array, right in zip(found, (sum(weights), sum(biases)), strict=True):
        assert np.array_equal(array, right) and array.dtype == dtype
