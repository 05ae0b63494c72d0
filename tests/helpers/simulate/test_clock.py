"""The simulator on small steps worked out by hand; tests/fuzz holds it to the definition."""

import numpy as np
import pytest
import torch

from helpers.schedules import (
    BadSchedule,
    gpipe,
    in_flight,
    interleaved,
    one_f_one_b,
    parse,
    zb_h1,
)
from helpers.simulate import Costs, OutOfMemory, simulate


def test_a_message_takes_latency_and_its_bytes_and_computing_goes_on():
    costs = Costs(latency=0.5, bandwidth=100, message_bytes=50)  # 1 s a message
    done = simulate(gpipe(2, 2), costs)
    assert done.times.starts == [[0, 1, 7, 9], [2, 3, 4, 6]]
    assert (done.messages, done.bytes) == (4, 200)


def test_messages_of_one_link_follow_each_other_and_latency_does_not_hold_them_up():
    costs = Costs(forward=1, latency=10, bandwidth=1, message_bytes=5)
    done = simulate(parse("0: F0 F1 B0 B1\n1: F0 F1 B0 B1"), costs)
    # The bytes of F0 leave from 1 to 6 s, those of F1 from 6 to 11 s; both arrive 10 s later.
    assert done.times.starts[1][:2] == [16, 21]


def test_the_two_directions_of_a_link_do_not_wait_for_each_other():
    costs = Costs(bandwidth=1, message_bytes=4)
    text = "0: F0 F1 B0 B1\n1: F0 B0 F1 B1"
    done = simulate(parse(text), costs)
    # F1 leaves rank 0 from 5 to 9 s; B0 leaves rank 1 from 8 to 12 s.
    assert done.times.starts == [[0, 1, 12, 16], [5, 6, 9, 10]]


def test_a_slow_rank_takes_longer_for_everything():
    done = simulate(gpipe(2, 1), Costs(speed=[1, 0.5], update=1))
    assert done.times.starts == [[0, 7], [1, 3]]
    assert done.step_time == 10 and done.busy == [4, 8]


def test_all_reduce_and_update_follow_the_last_action_of_each_rank():
    done = simulate(gpipe(2, 2), Costs(all_reduce=[2, 1], update=0.5))
    assert done.step_time == 9 + 2 + 0.5
    closing = [e for e in done.trace.events if e.kind in ("all-reduce", "update")]
    assert sorted((e.rank, e.kind, e.start, e.end) for e in closing) == [
        (0, "all-reduce", 9, 11),
        (0, "update", 11, 11.5),
        (1, "all-reduce", 7, 8),
        (1, "update", 8, 8.5),
    ]
    waits = {e.name for e in done.trace.events if e.kind == "wait"}
    assert waits == {"dependency", "finished"}  # an all-reduce is an event of its own
    assert done.busy == [6.5, 6.5]


def test_what_cannot_run_is_not_simulated():
    with pytest.raises(BadSchedule, match="rank 1 never does 1B0"):
        simulate(parse("0: F0 B0\n1: F0"))
    with pytest.raises(BadSchedule, match="deadlock"):
        simulate(parse("0: F0 B0 F1 B1\n1: F0 F1 B0 B1"))


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
