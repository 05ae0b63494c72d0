"""Costs: one number for all or one for each; what does not fit is refused in one sentence."""

import numpy as np
import pytest
import torch

from helpers.schedules import gpipe, interleaved
from helpers.simulate import Costs, simulate


def test_one_number_is_for_all_and_a_list_for_each():
    costs = Costs(forward=2, latency=[1, 2, 3], speed=(1, 2)).for_schedule(interleaved(2, 2))
    assert costs.forward == [2, 2, 2, 2] and costs.latency == [1, 2, 3]
    assert costs.speed == [1, 2] and costs.memory_limit is None


def test_scalars_of_numpy_and_torch_are_numbers():
    plain = simulate(gpipe(2, 1), Costs(forward=[1, 2], latency=1, memory_limit=9)).step_time
    for scalar in (np.array, torch.tensor):
        costs = Costs(forward=scalar([1.0, 2.0]), latency=scalar(1.0), memory_limit=scalar(9.0))
        assert simulate(gpipe(2, 1), costs).step_time == plain


@pytest.mark.parametrize(
    "costs, words",
    [
        ({"forward": [1, 2, 3]}, "Costs(forward=...) has 3 numbers, and the schedule needs 2: one"),
        ({"speed": [1]}, "needs 2: one for each rank; or give a single number"),
        ({"latency": [1, 1]}, "needs 1: one for each pair of neighboring stages"),
        ({"weight_grad": -1}, "Costs(weight_grad=...) holds -1: it must be 0 or more, and finite"),
        ({"input_grad": float("nan")}, "holds nan: it must be 0 or more"),
        ({"update": float("inf")}, "holds inf: it must be 0 or more, and finite"),
        ({"speed": 0}, "Costs(speed=...) holds 0: it must be above 0"),
        ({"bandwidth": 0}, "Costs(bandwidth=...) holds 0: it must be above 0"),
        ({"memory_limit": -5}, "Costs(memory_limit=...) holds -5"),
        ({"kept_for_weights": 2}, "Costs(kept_for_weights=2): a share is from 0 to 1"),
        ({"forward": "fast"}, "Costs(forward='fast'): give a number, or a list of numbers"),
        ({"update": None}, "Costs(update=None): give a number, or a list of numbers"),
        ({"forward": [1, "b"]}, "Costs(forward=...) holds 'b': it must be a number"),
        ({"forward": 10**400}, "Costs(forward=...) holds a number of 401 digits: it must fit"),
        ({"speed": [1, 10**400]}, "Costs(speed=...) holds a number of 401 digits"),
        ({"memory_limit": 10**400}, "Costs(memory_limit=...) holds a number of 401 digits"),
    ],
)
def test_what_does_not_fit_is_refused(costs, words):
    with pytest.raises(ValueError) as caught:
        simulate(gpipe(2, 2), Costs(**costs))
    assert words in str(caught.value)
