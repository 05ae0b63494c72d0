"""The steps of a training are cut at rank 0's updates."""

from helpers.trace import Event, Trace, last_steps, step_seconds


def test_steps_go_from_update_to_update_of_rank_0():
    ends = [2.0, 3.0, 5.0, 9.0]
    events = [Event(0, "update", end - 0.5, end) for end in ends]
    events += [Event(0, "F", end, end + 0.25) for end in ends]
    events += [Event(1, "update", 0.0, 8.0)]
    trace = Trace(events)
    assert step_seconds(trace) == [1.0, 2.0, 4.0]
    assert last_steps(trace).duration == 4.0
    two = last_steps(trace, 2)
    assert two.duration == 6.0
    assert [e.kind for e in two.events_of(0)] == ["F", "update", "F", "update"]
