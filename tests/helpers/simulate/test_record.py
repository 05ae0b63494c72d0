"""The trace of a simulation is a trace like any other, and waits as long as those of real ranks."""

from dataclasses import replace

import pytest

from helpers.draw.findings import TraceSummary
from helpers.schedules import gpipe, interleaved, one_f_one_b, zb_h1, zb_v
from helpers.simulate import Costs, simulate
from helpers.trace import Trace, bubble, busy, matched_messages, peak, with_waits


@pytest.mark.parametrize("schedule", [gpipe(3, 4), interleaved(2, 4), zb_v(3, 6), zb_h1(3, 3)])
def test_its_numbers_are_those_of_the_simulation(schedule):
    sizes = [8 + pair for pair in range(schedule.stages - 1)]
    costs = Costs(latency=0.25, bandwidth=100, message_bytes=sizes, activation_bytes=5, update=1)
    done = simulate(schedule, costs)
    assert done.trace.duration == pytest.approx(done.step_time)
    for over in ("total", "ideal", "span"):
        assert bubble(done.trace, over) == pytest.approx(done.bubble(over))
    assert list(busy(done.trace).values()) == pytest.approx(done.busy)
    assert list(peak(done.trace).values()) == done.peak_memory
    pairs = matched_messages(done.trace)
    assert len(pairs) == done.messages
    assert sum(send.info["bytes"] for send, _ in pairs) == done.bytes
    if schedule.rank_of == tuple(range(schedule.stages)):
        assert done.bytes == 2 * schedule.micro_batches * sum(sizes)


def test_events_carry_their_facts():
    done = simulate(one_f_one_b(2, 1), Costs(latency=0.5, message_bytes=4))
    (forward,) = [e for e in done.trace.events_of(1) if e.kind == "F"]
    assert forward.info == {"stage": 1, "micro_batch": 0}
    (send, receive), (back, _) = matched_messages(done.trace)
    assert send.info == {"stage": 0, "peer": 1, "micro_batch": 0, "tag": 2, "bytes": 4}
    assert receive.info == {"stage": 1, "peer": 0, "micro_batch": 0, "tag": 2, "bytes": 4}
    assert (send.rank, send.start, send.end) == (0, 1, 1.5) and receive.end == 1.5
    assert (back.rank, back.info["tag"]) == (1, 1)
    waits = [e for e in done.trace.events_of(1) if e.kind == "wait"]
    assert [(e.name, e.start, e.end) for e in waits] == [
        ("dependency", 0, 1),
        ("message", 1, 1.5),
        ("finished", 4.5, 7),
    ]
    assert waits[0].info == {
        "cause": "dependency",
        "stage": 1,
        "micro_batch": 0,
        "for": "1F0",
        "until": 0,
    }
    assert done.trace.meta["simulated"] and done.trace.meta["schedule"] == "1F1B"


def test_it_is_saved_and_read_again_and_drawn(tmp_path):
    from helpers.draw import lanes

    trace = simulate(zb_h1(3, 3), Costs(latency=0.1, activation_bytes=7)).trace
    again = Trace.load(trace.save(tmp_path / "step.json"))
    assert again.meta == trace.meta
    assert sorted(map(repr, again.events)) == sorted(map(repr, trace.events))
    assert "ZB-H1: 3 ranks, 3 stages, 3 micro-batches" in lanes(trace).svg()


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


def test_an_idle_moment_that_waits_for_nobody_has_no_cause():
    trace = simulate(gpipe(1, 2)).trace
    trace.events[1].start += 0.25  # Python itself took a moment
    assert not [e for e in with_waits(trace).events if e.kind == "wait"]
