"""Busy, idle, bubble and the rest."""

import pytest

from helpers.trace import (
    Event,
    Trace,
    bubble,
    busy,
    cut_by,
    idle,
    idle_by_cause,
    is_pipeline,
    peak,
    waiting,
    with_waits,
)
from helpers.trace.examples import data_parallel, pipeline


def test_two_ranks_half_busy():
    trace = Trace([Event(0, "F", 0, 4), Event(1, "B", 2, 4), Event(1, "send", 0, 2)])
    assert busy(trace) == {0: 4, 1: 2}
    assert idle(trace) == {0: 0, 1: 2}
    assert bubble(trace) == 0.25
    assert bubble(trace, over="ideal") == pytest.approx(2 / 6)


@pytest.mark.parametrize("stages, micro_batches", [(2, 1), (4, 6), (3, 8)])
def test_gpipe_equals_its_closed_form(stages, micro_batches):
    trace = pipeline(stages, micro_batches, message=0.0)
    step = Trace([e for e in trace.events if e.kind in "FB"])
    p, m = stages, micro_batches
    assert bubble(step) == pytest.approx((p - 1) / (m + p - 1))
    assert bubble(step, over="ideal") == pytest.approx((p - 1) / m)
    assert peak(trace) == dict.fromkeys(range(p), m * 100_000_000)


def test_the_span_of_a_rank_goes_from_its_first_action_to_its_last():
    rows = [("F", 0, 1), ("B", 2, 4), ("update", 4, 9)]
    trace = Trace([Event(0, *row) for row in rows] + [Event(1, "F", 0, 1)])
    assert bubble(trace, "span") == 1 - 3 / 4
    assert bubble(Trace(), "span") == bubble(Trace([Event(0, "wait", 0, 1)]), "span") == 0


def test_unknown_convention():
    with pytest.raises(ValueError, match=r"over='all'\): choose 'total', 'ideal' or 'span'"):
        bubble(Trace(), over="all")


def test_causes_add_up_to_the_idle_time():
    trace = with_waits(data_parallel(steps=3))
    causes = idle_by_cause(trace)
    for rank, seconds in idle(trace).items():
        assert sum(causes[rank].values()) == pytest.approx(seconds)
    assert {k: round(v * 1e3, 6) for k, v in causes[0].items()} == {
        "communication": 18,
        "wait": 36,
        "input": 6,
        "finished": 0,
        "nothing": 0,
    }


def test_a_rank_that_is_blocked_in_a_receive_waits_until_the_message_is_there():
    sent = Event(0, "send", 3, 5, info={"peer": 1})
    received = Event(1, "recv", 0, 5, info={"peer": 0})
    trace = with_waits(Trace([Event(0, "F", 0, 3), sent, received, Event(1, "F", 5, 6)]))
    assert idle_by_cause(trace)[1] == {
        "wait": 5, "communication": 0, "input": 0, "finished": 0, "nothing": 0
    }  # fmt: skip


def test_nothing_happened():
    trace = Trace()
    assert bubble(trace) == 0
    assert bubble(Trace([Event(0, "send", 0, 1)]), over="ideal") == float("inf")
    assert busy(trace) == idle(trace) == idle_by_cause(trace) == peak(trace) == {}


def test_a_pipeline_is_known_by_the_stages_of_its_actions():
    message = Event(0, "send", 0, 1, info={"stage": 0, "peer": 1})
    accumulated = Event(0, "F", 0, 1, info={"micro_batch": 3})  # gradient accumulation
    assert is_pipeline(pipeline())
    for trace in (data_parallel(), Trace([message]), Trace([accumulated]), Trace()):
        assert not is_pipeline(trace)


def test_computing_is_cut_where_a_blocking_collective_goes_on():
    trace = Trace([Event(0, "F", 0, 10), Event(0, "all-reduce", 4, 6), Event(1, "F", 0, 10)])
    pieces = [(e.rank, e.kind, e.start, e.end) for e in cut_by(trace).events]
    assert sorted(pieces) == [
        (0, "F", 0, 4), (0, "F", 6, 10), (0, "all-reduce", 4, 6), (1, "F", 0, 10)
    ]  # fmt: skip


def test_overlap_counts_once_and_waiting_is_no_work():
    trace = Trace(
        [Event(0, "F", 0, 4), Event(0, "W", 1, 2), Event(0, "wait", 4, 8, lane="compute")]
    )
    assert busy(trace) == {0: 4}
    assert waiting(trace) == {0: 4}
    done = Event(0, "wait", 4, 8, info={"cause": "finished"})
    assert waiting(Trace([Event(0, "F", 0, 4), done])) == {0: 0}


def test_hidden_communication_is_no_idle_time():
    trace = Trace([Event(0, "B", 0, 4), Event(0, "all-reduce", 2, 6)])
    assert idle_by_cause(trace)[0] == {
        "communication": 2, "wait": 0, "input": 0, "finished": 0, "nothing": 0
    }  # fmt: skip
