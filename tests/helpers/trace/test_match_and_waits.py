"""Which event belongs to which, and how long ranks wait for each other."""

import pytest

from helpers.trace import Event, Trace, matched_collectives, matched_messages, with_waits
from helpers.trace.examples import data_parallel, pipeline


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
    assert pieces(split, 0) == [("wait", 0, 6), ("all-reduce", 6, 10)]
    assert pieces(split, 1) == [("wait", 4, 6), ("all-reduce", 6, 10)]
    assert pieces(split, 2) == [("all-reduce", 6, 10)]
    wait, transfer = split.events_of(0)
    assert (wait.name, wait.lane, wait.info) == (
        "all-reduce",
        "communication",
        {"bytes": 8, "until": 2},
    )
    assert transfer.info == {"bytes": 8}


def test_nobody_waits_for_one_that_came_after_he_had_left():
    trace = Trace([Event(0, "broadcast", 0, 2), Event(1, "broadcast", 5, 6)])
    assert with_waits(trace) == trace
    three = Trace([all_reduce(0, 0, 4), all_reduce(1, 3, 9), all_reduce(2, 8, 9)])
    assert pieces(with_waits(three), 0) == [("wait", 0, 3), ("all-reduce", 3, 4)]


def test_messages_wait_for_either_side():
    late_send = with_waits(Trace([send(0, 1, 3, 4), recv(1, 0, 0, 4)]))
    assert pieces(late_send, 1) == [("wait", 0, 3), ("recv", 3, 4)]
    assert pieces(late_send, 0) == [("send", 3, 4)]
    late_recv = with_waits(Trace([send(0, 1, 0, 4), recv(1, 0, 3, 4)]))
    assert pieces(late_recv, 0) == [("wait", 0, 3), ("send", 3, 4)]
    gone = with_waits(
        Trace([send(0, 1, 0, 1), recv(1, 0, 1, 1)])
    )  # it had left when it was awaited
    assert pieces(gone, 0) == [("send", 0, 1)]
    free = with_waits(Trace([send(0, 1, 2, 2), recv(1, 0, 0, 2)]))  # a message that takes no time
    assert pieces(free, 1)[0] == ("wait", 0, 2)


def test_splitting_changes_no_sum_and_can_be_repeated():
    for trace in (data_parallel(), pipeline()):
        split = with_waits(trace)
        more = ("finished", "message")  # beside what was recorded
        split_up = [e for e in split.events if e.info.get("cause") not in more]
        sums = [sum(e.duration for e in events) for events in (trace.events, split_up)]
        assert sums[0] == pytest.approx(sums[1], rel=1e-12)
        assert with_waits(split) is split


def test_a_rank_of_a_pipeline_says_what_it_needs_and_when_it_has_finished():
    waits = [e for e in with_waits(pipeline(stages=2, micro_batches=1)).events if e.kind == "wait"]
    found = {(e.rank, e.info["cause"], e.info.get("for"), e.info.get("until")) for e in waits}
    assert found == {
        (1, "dependency", "1F0", 0),
        (1, "message", "1F0", 0),
        (0, "dependency", "0B0", 1),
        (0, "message", "0B0", 1),
        (1, "finished", None, None),
    }
    end = max(e.end for e in waits)
    assert end == pipeline(stages=2, micro_batches=1).end


def test_a_rank_without_actions_of_a_pipeline_is_not_said_to_have_finished():
    trace = Trace([Event(0, "F", 0, 1), Event(1, "F", 0, 3)])
    assert with_waits(trace) == trace
