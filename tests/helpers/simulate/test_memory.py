"""Activations over time, and the limit."""

import pytest

from helpers.schedules import gpipe, in_flight, one_f_one_b, zb_h1
from helpers.simulate import Costs, OutOfMemory, simulate


def test_a_forward_takes_as_it_starts_and_a_backward_frees_as_it_ends():
    done = simulate(gpipe(2, 2), Costs(activation_bytes=[10, 20]))
    assert done.memory(0) == [(0, 10), (1, 20), (7, 10), (9, 0)]
    assert done.memory(1) == [(1, 20), (2, 40), (5, 20), (7, 0)]
    assert done.peak_memory == [20, 40]


@pytest.mark.parametrize("schedule", [gpipe(4, 6), one_f_one_b(4, 6), zb_h1(4, 6)])
def test_peaks_are_the_counts_in_flight(schedule):
    until_i = simulate(schedule, Costs(activation_bytes=1, kept_for_weights=0))
    until_w = simulate(schedule, Costs(activation_bytes=1))
    assert until_i.peak_memory == in_flight(schedule)
    assert until_w.peak_memory == in_flight(schedule, until="weights")


def test_a_schedule_that_keeps_too_much_is_refused_at_the_action_that_finds_no_room():
    with pytest.raises(OutOfMemory) as caught:
        simulate(gpipe(2, 4), Costs(activation_bytes=1e9, memory_limit=2e9))
    assert str(caught.value) == (
        "rank 0, position 2: 0F2 needs 3 GB of activations, and the limit is 2 GB: choose a "
        "schedule that keeps fewer micro-batches, or smaller micro-batches"
    )
    fits = simulate(one_f_one_b(2, 4), Costs(activation_bytes=1e9, memory_limit=2e9))
    assert fits.peak_memory == [2e9, 1e9]
