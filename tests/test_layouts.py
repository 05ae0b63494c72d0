"""Any grid of ranks, any cut into stages: nothing is lost, and nothing there twice."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.grid import DIMENSIONS, Grid
from simplellm.llama import CausalLLama, LLama
from simplellm.slicing import layer_counts, slice_stages, whole_weights
from tests.drawn import examples

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
        with pytest.raises(ValueError, match=f"there is no rank {outside}"):
            grid.coordinates(outside)


@examples(60)
@given(st.integers(1, 40), st.integers(1, 40))
def test_stages_have_equally_many_layers_or_the_first_have_one_more(layers, stages):
    if stages > layers:
        with pytest.raises(ValueError, match=f"{layers} layers cannot fill {stages} stages"):
            layer_counts(layers, stages)
        return
    counts = layer_counts(layers, stages)
    assert (len(counts), sum(counts)) == (stages, layers)
    assert counts == sorted(counts, reverse=True) and counts[0] - counts[-1] <= 1


@examples(30)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=4).filter(any))
def test_the_stages_of_any_cut_hold_each_weight_once(counts):
    sizes = {"dmodel": 4, "num_heads": 2, "ctx_size": 4, "device": "cpu"}
    net = LLama(CausalLLama, 7, n_layers=sum(counts), **sizes)
    stages = slice_stages(net, counts)
    right, found = net.state_dict(), whole_weights(stages)
    assert sum(len(stage.state_dict()) for stage in stages) == len(found) == len(right)
    assert all(torch.equal(found[name], weight) for name, weight in right.items())
