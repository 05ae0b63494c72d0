"""The trace of a simulation is a trace like any other."""

import pytest

from helpers.schedules import gpipe, interleaved, one_f_one_b, zb_h1
from helpers.simulate import Costs, simulate
from helpers.trace import Trace, bubble, busy, matched_messages, peak


@pytest.mark.parametrize("schedule", [gpipe(3, 4), interleaved(2, 4), zb_h1(3, 3), gpipe(1, 2)])
def test_its_numbers_are_those_of_the_simulation(schedule):
    sizes = [8 + pair for pair in range(schedule.stages - 1)]
    costs = Costs(latency=0.25, bandwidth=100, message_bytes=sizes, activation_bytes=5, update=1)
    done = simulate(schedule, costs)
    assert done.trace.duration == pytest.approx(done.step_time)
    assert bubble(done.trace) == pytest.approx(done.bubble())
    assert bubble(done.trace, "ideal") == pytest.approx(done.bubble("ideal"))
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
    from helpers.draw import timeline

    trace = simulate(zb_h1(3, 3), Costs(latency=0.1, activation_bytes=7)).trace
    again = Trace.load(trace.save(tmp_path / "step.json"))
    assert again.meta == trace.meta
    assert sorted(map(repr, again.events)) == sorted(map(repr, trace.events))
    assert "ZB-H1: 3 ranks, 3 stages, 3 micro-batches" in timeline(trace).svg()
