"""Event and Trace."""

import pytest

from helpers.trace import Counter, Event, Trace, lane_of


def two_ranks() -> Trace:
    return Trace(
        [Event(1, "B", 3.0, 5.0), Event(0, "F", 1.0, 2.0), Event(1, "send", 2.0, 3.5)],
        {"title": "x"},
        [Counter(1, "memory", 2.5, 10)],
    )


def test_lane_follows_from_the_kind_unless_it_is_given():
    assert Event(0, "F", 0, 1).lane == "compute"
    assert Event(0, "all-reduce", 0, 1).lane == lane_of("wait") == "communication"
    assert Event(0, "input", 0, 1).lane == "input"
    assert Event(0, "all-reduce", 0, 1, lane="compute").lane == "compute"


def test_a_trace_without_events():
    trace = Trace()
    assert (trace.ranks, trace.start, trace.end, trace.duration) == ([], 0.0, 0.0, 0.0)
    assert trace.by_rank() == {} and trace.events_of(0) == []


@pytest.mark.parametrize("start, end", [(2.0, 1.0), (float("nan"), 1.0), (0.0, float("inf"))])
def test_times_that_make_no_sense(start, end):
    with pytest.raises(ValueError) as caught:
        Trace([Event(3, "F", start, end)])
    assert str(caught.value) == (
        f"event 'F' on rank 3 starts at {start} s and ends at {end} s: "
        "both must be numbers, and the end must not come first"
    )


def test_merged_is_in_the_order_of_time_and_believes_the_first():
    merged = Trace([Event(0, "F", 1, 2)], {"a": 1}).merged(
        Trace([Event(1, "F", 0, 3)], {"a": 2, "b": 3}), Trace([Event(2, "F", 0.5, 3)])
    )
    assert [e.rank for e in merged.events] == [1, 2, 0]
    assert merged.meta == {"a": 1, "b": 3}


def test_between_cuts_events_to_fit():
    part = two_ranks().between(1.5, 3.0)
    assert [(e.kind, e.start, e.end) for e in part.events] == [("F", 1.5, 2.0), ("send", 2.0, 3.0)]
    assert len(part.counters) == 1 and part.meta == {"title": "x"}
