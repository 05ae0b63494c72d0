"""Traces: events, waits and memory of a run, for the timeline and for Perfetto."""

import part2
import part3
import part4
import pytest
from cluster import outcome, run, trace_of
from utils import get_global_batch_list, to_chrome_trace, write_chrome_trace

from helpers.draw import lanes
from helpers.trace import Trace, idle_by_cause, matched_messages, peak, with_waits

CASE = (4, 8, 32, 4)


@pytest.mark.parametrize("profile", ["bytes", "classic", "steps"])
def test_events_of_a_pipeline(profile):
    models = run(part3.part3_training_loop, *CASE, profile=profile)
    trace, found = trace_of(models), outcome(models)
    assert trace.ranks == [0, 1, 2, 3] and trace.end == pytest.approx(found.end)
    for rank in range(4):
        kinds = [e.kind for e in trace.events_of(rank)]
        assert kinds.count("F") == kinds.count("B") == 2 * 8 and kinds.count("update") == 2
    assert len(matched_messages(trace)) == 2 * 3 * 8
    for send, recv in matched_messages(trace):
        assert send.start <= recv.end
    numbers = {e.info["micro_batch"] for e in trace.events if e.kind == "F"}
    assert numbers == set(range(8))


def test_waits_are_where_a_rank_stood_in_a_receive():
    trace = trace_of(run(part2.part2_training_loop, 4, 8, 16, profile="classic"))
    assert with_waits(trace) is trace
    waits = [e for e in trace.events_of(3) if e.kind == "wait"]
    first = next(e for e in trace.events_of(3) if e.kind == "recv")
    assert waits[0].end == pytest.approx(first.start) and waits[0].name == "recv"
    causes = idle_by_cause(trace)
    assert causes[3]["wait"] > 0 == causes[3]["communication"]  # a blocked receiver waits


def test_memory_is_a_counter():
    models = run(part3.part3_training_loop, *CASE, profile="bytes")
    most = peak(trace_of(models))
    assert max(most.values()) == pytest.approx(outcome(models).memory, rel=0.1)
    classic = trace_of(run(part3.part3_training_loop, *CASE, profile="classic"))
    assert {c.name for c in classic.counters} == {"memory (elements)"}


def test_overlap_shows_as_two_lanes():
    trace = trace_of(run(part4.part4_training_loop, 16, 6, 64, 4, profile="bytes"))
    lanes = {e.lane for e in trace.events_of(0)}
    assert lanes == {"compute", "communication"}
    reduces = [e for e in trace.events_of(0) if e.kind == "reduce-scatter"]
    work = [e for e in trace.events_of(0) if e.kind == "B"]
    assert any(r.start < w.end and w.start < r.end for r in reduces for w in work)
    assert reduces[0].info["group"] == list(range(16))


def test_file_opens_again_and_can_be_drawn(tmp_path):
    models = run(part3.part3_training_loop, *CASE, profile="classic")
    path = tmp_path / "debug_traces" / "part3.json"
    write_chrome_trace(models, str(path), get_global_batch_list(32, 4))
    back = Trace.load(path)
    assert len(back.events) == len(trace_of(models).events)
    assert to_chrome_trace(models)["traceEvents"]
    assert "<svg" in lanes(back).svg()
