"""Costs from a trace, and back: what was simulated is measured as it was."""

import pytest

from helpers.schedules import dualpipe_v, gpipe, interleaved, one_f_one_b, zb_h1
from helpers.simulate import Costs, measured, simulate
from helpers.trace import Event, Trace
from tests.orders import planned, recorded

COSTS = Costs(forward=[1, 2, 3], input_grad=[2, 1, 2], weight_grad=[1, 1, 3], latency=0.25)


def test_a_simulated_step_gives_its_costs_back():
    found = measured(simulate(zb_h1(3, 5), COSTS).trace)
    assert found.forward == pytest.approx([1, 2, 3])
    assert found.input_grad == pytest.approx([2, 1, 2])
    assert found.weight_grad == pytest.approx([1, 1, 3])
    assert found.latency == pytest.approx(0.25)


def test_one_schedule_is_measured_and_another_one_foretold():
    found = measured(simulate(gpipe(3, 4), COSTS).trace)
    assert found.input_grad == found.weight_grad == pytest.approx([1.5, 1, 2.5])
    foretold = simulate(one_f_one_b(3, 8), found).step_time
    assert foretold == pytest.approx(simulate(one_f_one_b(3, 8), COSTS).step_time)


def test_one_slow_micro_batch_does_not_count_and_the_update_does():
    trace = simulate(gpipe(1, 5), Costs(update=7)).trace
    trace.events[0].end += 0.5
    found = measured(trace)
    assert (found.forward, found.update, found.latency) == ([1], [7], 0)


def test_messages_that_nobody_waited_for_say_nothing_of_the_latency():
    send = {"peer": 1, "tag": 0}
    late = Event(1, "recv", 5, 6, info={"peer": 0, "tag": 0})
    pairs = [Event(0, "send", 1, 2, info=send), late]
    trace = simulate(gpipe(1, 1)).trace
    assert measured(Trace(trace.events + pairs)).latency == 0


@pytest.mark.parametrize(
    "kinds, words",
    [
        ("", "no forward that names its stage"),
        ("F", "no complete forward and backward of stage 0"),
        ("FI", "no complete forward and backward of stage 0"),
    ],
)
def test_half_a_step_is_refused(kinds, words):
    trace = simulate(zb_h1(1, 1)).trace
    kept = [e for e in trace.events if e.kind in tuple(kinds)]
    with pytest.raises(ValueError, match=words):
        measured(Trace(kept))


@pytest.mark.parametrize("schedule", [zb_h1(3, 4), interleaved(2, 4), dualpipe_v(3, 7)])
def test_a_trace_shows_its_schedule_and_its_pairs(schedule):
    assert recorded(simulate(schedule, Costs(latency=0.1)).trace) == planned(schedule)
