"""Events and who records them; which belong together, who waits, what is busy, idle or a step."""

import time
from dataclasses import astuple

import pytest

from helpers.trace import Counter, Event, Recorder, Trace, measure, with_waits
from helpers.trace.match import matched_collectives, matched_messages
from helpers.trace.measure import bubble, busy, cut_by, idle, idle_by_cause, in_lanes, peak, shares
from tests.said import said
from tests.traces import pipeline


def test_a_trace_is_put_in_order_and_cut():
    assert [Event(0, kind, 0, 1).lane for kind in ("F", "all-reduce", "wait", "input")] == [
        "compute", "communication", "communication", "input"
    ]  # fmt: skip
    assert Event(0, "all-reduce", 0, 1, lane="compute").lane == "compute"
    trace = Trace()
    assert (trace.ranks, trace.start, trace.end, trace.duration) == ([], 0.0, 0.0, 0.0)
    events = [Event(1, "B", 3.0, 5.0), Event(0, "F", 1.0, 2.0), Event(1, "send", 2.0, 3.5)]
    part = Trace(events, {"a": 1}, [Counter(1, "memory", 2.5, 10)]).between(1.5, 3.0)
    assert [(e.kind, e.start, e.end) for e in part.events] == [("F", 1.5, 2.0), ("send", 2.0, 3.0)]
    zero = part.from_zero()
    assert (zero.start, zero.end, zero.counters[0].time) == (0, 1.5, 1.0)
    merged = part.merged(Trace([Event(2, "F", 0, 3)], {"a": 2, "b": 3}))
    assert [e.rank for e in merged.events] == [2, 0, 1] and merged.meta == {"a": 1, "b": 3}


@pytest.mark.parametrize("end", [1.0, float("nan"), float("inf"), 2e15])
def test_times_that_make_no_sense(end):
    there = said(Trace, [Event(3, "F", 2.0, end)])
    assert there.startswith("event 'F' on rank 3 starts at 2.0 s and ends at")


def test_spans_messages_and_counters_become_events(monkeypatch):
    now = iter(range(1000))  # a clock that moves one second at each reading
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(now)))
    recorder = Recorder(rank=2)
    with recorder.span("F", "block", micro_batch=3):
        with recorder.span("send", peer=1) as info:
            info["bytes"] = 8
    with pytest.raises(ZeroDivisionError), recorder.span("B"):
        1 / 0  # noqa: B018
    recorder.count("memory", 5_000)
    recorder.add("recv", 0.5, recorder.now(), peer=0, tag=7)
    assert recorder.trace() == Trace(
        [
            Event(2, "F", 0.0, 3.0, "compute", "block", {"micro_batch": 3}),
            Event(2, "recv", 0.5, 7.0, info={"peer": 0, "tag": 7}),
            Event(2, "send", 1.0, 2.0, "communication", info={"peer": 1, "bytes": 8}),
            Event(2, "B", 4.0, 5.0, info={"error": "ZeroDivisionError"}),
        ],
        {},
        [Counter(2, "memory", 6.0, 5_000)],
    )
    off = Recorder(0, enabled=False)
    with off.span("F") as info:
        info["tokens"] = 1
    off.count("memory", 1)
    off.add("recv", 0, 1)
    assert off.trace() == Trace()


# --- which belong together, and who waits -------------------------------------------------------


def all_reduce(rank, start, end, **info):
    return Event(rank, "all-reduce", start, end, info=info)


def send(rank, peer, start, end, **info):
    return Event(rank, "send", start, end, info={"peer": peer, **info})


def recv(rank, peer, start, end, **info):
    return Event(rank, "recv", start, end, info={"peer": peer, **info})


def pieces(trace, rank):
    return [(e.kind, e.start, e.end) for e in trace.events_of(rank)]


def test_messages_match_by_order_within_peer_and_tag():
    a, b, other = send(0, 1, 1, 2), send(0, 1, 3, 4), send(0, 1, 0, 9, tag=5)
    x, y, z = recv(1, 0, 1, 2), recv(1, 0, 3, 4), recv(1, 0, 0, 9, tag=5)
    lonely = send(1, 0, 0, 1)
    assert matched_messages(Trace([b, y, x, z, a, other, lonely])) == [(other, z), (a, x), (b, y)]


def test_collectives_match_by_number_within_kind_and_group():
    first = [all_reduce(0, 0, 2), all_reduce(1, 1, 2)]
    second = [all_reduce(0, 3, 4), all_reduce(1, 3, 4)]
    pair = [all_reduce(0, 5, 6, group=[0, 1]), all_reduce(1, 5, 6, group=(0, 1))]
    barrier = [Event(0, "barrier", 7, 8)]
    events = [*second, *pair, *barrier, *first]
    assert matched_collectives(Trace(events)) == [first, second, pair, barrier]


def test_a_collective_is_split_where_the_last_rank_arrived():
    trace = Trace([all_reduce(0, 0, 10, bytes=8), all_reduce(1, 4, 10), all_reduce(2, 6, 10)])
    split = with_waits(trace)
    assert [pieces(split, rank) for rank in range(3)] == [
        [("wait", 0, 6), ("all-reduce", 6, 10)],
        [("wait", 4, 6), ("all-reduce", 6, 10)],
        [("all-reduce", 6, 10)],
    ]
    wait, transfer = split.events_of(0)
    assert (wait.name, wait.lane) == ("all-reduce", "communication")
    assert wait.info == {"bytes": 8, "until": 2} and transfer.info == {"bytes": 8}
    assert with_waits(split) is split
    # Nobody waits for one that came after he had left.
    three = Trace([all_reduce(0, 0, 4), all_reduce(1, 3, 9), all_reduce(2, 8, 9)])
    assert pieces(with_waits(three), 0) == [("wait", 0, 3), ("all-reduce", 3, 4)]
    apart = [Event(rank, "F", 0, 1 + rank) for rank in range(2)]
    for events in ([all_reduce(0, 0, 2), all_reduce(1, 5, 6)], apart):
        assert with_waits(Trace(events)) == Trace(events)


def test_messages_wait_for_either_side():
    for sent, received, right in (
        ((3, 4), (0, 4), [[("send", 3, 4)], [("wait", 0, 3), ("recv", 3, 4)]]),
        ((0, 4), (3, 4), [[("wait", 0, 3), ("send", 3, 4)], [("recv", 3, 4)]]),
        ((0, 1), (1, 1), [[("send", 0, 1)], [("recv", 1, 1)]]),  # it had left when it was awaited
        ((2, 2), (0, 2), [[("send", 2, 2)], [("wait", 0, 2), ("recv", 2, 2)]]),  # takes no time
    ):
        split = with_waits(Trace([send(0, 1, *sent), recv(1, 0, *received)]))
        assert [pieces(split, rank) for rank in range(2)] == right
        # Whoever stands in a send or receive waits until the message is there.
        waits = [sum(e - s for _, s, e in one) for one in right]
        assert [each["wait"] for each in idle_by_cause(split).values()] == waits


def test_a_rank_of_a_pipeline_says_what_it_needs_and_when_it_has_finished():
    trace = pipeline(stages=2, micro_batches=1)
    waits = [e for e in with_waits(trace).events if e.kind == "wait"]
    found = {(e.rank, e.info["cause"], e.info.get("for"), e.info.get("until")) for e in waits}
    assert found == {
        (1, "dependency", "1F0", 0),
        (1, "message", "1F0", 0),
        (0, "dependency", "0B0", 1),
        (0, "message", "0B0", 1),
        (1, "finished", None, None),
    }
    assert max(e.end for e in waits) == trace.end


# --- busy, idle, steps --------------------------------------------------------------------------


def test_a_bubble_is_the_idle_share():
    trace = pipeline(4, 6, message=0.0)
    assert bubble(Trace([e for e in trace.events if e.kind in "FB"])) == pytest.approx(3 / 9)
    assert peak(trace) == dict.fromkeys(range(4), 6 * 100_000_000)
    none, moment = Trace(), Trace([Event(0, "F", 1, 1)])
    assert bubble(none) == 0 and busy(none) == idle(none) == idle_by_cause(none) == peak(none) == {}
    assert shares(none) == {} and astuple(shares(moment)[0])[1:] == (0, 0, 0, 0)


def test_computing_is_cut_where_a_blocking_collective_goes_on():
    trace = Trace([Event(0, "F", 0, 10), Event(0, "all-reduce", 4, 6), Event(1, "F", 0, 10)])
    cut = cut_by(trace)
    assert sorted(pieces(cut, 0)) == [("F", 0, 4), ("F", 6, 10), ("all-reduce", 4, 6)]
    assert pieces(cut, 1) == [("F", 0, 10)]


def test_overlap_counts_once_and_waiting_is_no_work():
    rows = [("F", 0, 4), ("W", 1, 2), ("all-reduce", 3, 6)]
    trace = Trace([*(Event(0, *row) for row in rows), Event(0, "wait", 6, 8, lane="compute")])
    assert busy(trace) == {0: 4} and idle(trace) == {0: 4}
    causes = {cause: seconds for cause, seconds in idle_by_cause(trace)[0].items() if seconds}
    assert causes == {"communication": 2, "wait": 2}


def test_our_own_trace_without_steps_counts_from_its_first_event_to_its_last():
    rows = [(0, "input", 0, 1), (0, "F", 1, 4), (0, "all-reduce", 3, 6), (1, "F", 0, 8)]
    trace = Trace([Event(*row) for row in rows])  # the mark F hides a third of the all-reduce
    assert astuple(shares(trace)[0]) == (8, 3 / 8, 2 / 8, 1 / 8, 2 / 8)
    assert astuple(shares(trace)[1]) == (8, 1, 0, 0, 0)
    assert in_lanes(trace).events_of(0) == trace.events_of(0)


def test_steps_go_from_update_to_update_of_rank_0():
    ends = [2.0, 3.0, 5.0, 9.0]
    events = [Event(0, "update", end - 0.5, end) for end in ends]
    events += [Event(0, "F", end, end + 0.25) for end in ends]
    events += [Event(1, "update", 0.0, 8.0)]
    trace = Trace(events)
    assert measure.step_seconds(trace) == [1.0, 2.0, 4.0]
    assert measure.last_steps(trace).duration == 4.0
    two = measure.last_steps(trace, 2)
    assert two.duration == 6.0
    assert [e.kind for e in two.events_of(0)] == ["F", "update", "F", "update"]
