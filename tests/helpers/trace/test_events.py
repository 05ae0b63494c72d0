"""Event, Trace and the Recorder that writes them."""

import time

import pytest

from helpers.trace import Counter, Event, Recorder, Trace, lane_of


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


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves one second at each reading."""
    now = iter(range(1000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(now)))


def test_spans_become_events(clock):
    recorder = Recorder(rank=2)
    with recorder.span("F", "block", micro_batch=3):
        pass
    with recorder.span("all-reduce"):
        pass
    assert recorder.trace() == Trace(
        [
            Event(2, "F", 0.0, 1.0, "compute", "block", {"micro_batch": 3}),
            Event(2, "all-reduce", 2.0, 3.0, "communication"),
        ]
    )


def test_nested_spans_are_in_the_order_they_start(clock):
    recorder = Recorder(0)
    with recorder.span("B"):
        with recorder.span("send", peer=1):
            pass
    outer, inner = recorder.trace().events
    assert (outer.kind, outer.start, outer.end) == ("B", 0.0, 3.0)
    assert (inner.kind, inner.start, inner.end) == ("send", 1.0, 2.0)


def test_a_span_is_kept_when_its_body_raises():
    recorder = Recorder(0)
    with pytest.raises(ZeroDivisionError):
        with recorder.span("F"):
            1 / 0  # noqa: B018
    assert recorder.trace().events[0].info == {"error": "ZeroDivisionError"}


def test_messages_and_counters_by_hand(clock):
    recorder = Recorder(1)
    posted = recorder.now()
    recorder.count("memory", 5_000)
    recorder.add("recv", posted, recorder.now(), peer=0, tag=7)
    trace = recorder.trace()
    assert trace.events == [Event(1, "recv", 0.0, 2.0, info={"peer": 0, "tag": 7})]
    assert [(c.rank, c.name, c.time, c.value) for c in trace.counters] == [(1, "memory", 1, 5_000)]


def test_switched_off_it_keeps_nothing_and_asks_no_clock(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: pytest.fail("the clock was read"))
    recorder = Recorder(0, enabled=False)
    with recorder.span("F") as info:
        info["tokens"] = 1
    recorder.count("memory", 1)
    recorder.add("recv", 0, 1)
    assert recorder.trace() == Trace()
