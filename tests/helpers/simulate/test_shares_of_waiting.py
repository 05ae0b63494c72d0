"""A trace as real ranks write it waits for as long as the simulated one."""

from dataclasses import replace

import pytest

from helpers.draw.findings import TraceSummary
from helpers.schedules import gpipe, interleaved, one_f_one_b, zb_h1, zb_v
from helpers.simulate import Costs, simulate
from helpers.trace import Trace, bubble, with_waits

SCHEDULES = [gpipe(4, 4), one_f_one_b(4, 8), zb_h1(4, 6)]


def as_recorded(done):
    """A simulated step as real ranks would write it down: a rank enters a receive when it has
    nothing else to do, a send takes it no time, and nobody writes down a wait."""
    events = []
    for event in done.trace.events:
        if event.kind == "send":
            events.append(replace(event, end=event.start))
        elif event.kind == "recv":
            place = event.info["stage"], event.info["micro_batch"]
            rank = done.schedule.ranks[event.rank]
            back = event.info["tag"] % 2
            (position,) = [
                n
                for n, a in enumerate(rank)
                if a[1:] == place and a.kind in ("BI" if back else "F")
            ]
            free = done.times.ends[event.rank][position - 1] if position else 0.0
            events.append(replace(event, start=free, end=max(free, event.end)))
        elif event.kind != "wait":
            events.append(event)
    return Trace(events, {}, done.trace.counters)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("costs", [Costs(), Costs(latency=0.25, update=0.5)])
def test_both_halves_of_a_comparison_have_the_same_share_of_waiting(schedule, costs):
    done = simulate(schedule, costs)
    real, plan = TraceSummary("measured", as_recorded(done)), TraceSummary("predicted", done.trace)
    for rank in range(schedule.size):
        assert real.waits(rank) == pytest.approx(plan.waits(rank))
        assert real.busy(rank) == pytest.approx(plan.busy(rank))


@pytest.mark.parametrize("over", ["total", "ideal", "span"])
def test_the_bubble_of_a_trace_is_that_of_the_simulated_step(over):
    for schedule in (*SCHEDULES, interleaved(2, 4), zb_v(3, 6)):
        done = simulate(schedule, Costs(2, 1.5, 1, latency=0.1, update=0.5))
        assert bubble(done.trace, over) == pytest.approx(done.bubble(over))


def test_an_idle_moment_that_waits_for_nobody_has_no_cause():
    trace = simulate(gpipe(1, 2)).trace
    trace.events[1].start += 0.25  # Python itself took a moment
    assert not [e for e in with_waits(trace).events if e.kind == "wait"]
