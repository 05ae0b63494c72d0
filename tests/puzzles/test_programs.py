"""utils tells a step's time and memory, and its trace has every event, wait and overlap."""

import part0
import part2
import part3
import part4
import pytest
import utils
from cluster import outcome, run, trace_of

from helpers.trace import Trace, idle_by_cause, matched_messages, with_waits

CASE = (4, 8, 32, 4)


def test_what_utils_says_of_a_step(capsys):
    models = run(part0.train_ddp, 2, 3, 8, 2)
    found = outcome(models)
    assert utils.check(models) is None
    assert utils.get_training_stats(models) == (found.time, found.memory, found.rank)
    assert utils.get_model_theoretical_best_time(models[0]) == found.best
    assert len(utils.to_chrome_trace(models)["traceEvents"]) > 2 * 2 * 3 * 2
    assert set(models[1].final_weights) == {0, 1, 2} and models[1].status() is None
    assert "opt_states: 0: <optimizer state of layer 0>" in capsys.readouterr().out
    assert list(utils.get_next_microbatch(8, 2, 3, 1)) == [[4, 5, 6], [7]]
    assert utils.get_global_batch_list(4, 2) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("profile", ["bytes", "classic", "steps"])
def test_events_of_a_pipeline_and_its_file(profile, tmp_path):
    models = run(part3.part3_training_loop, *CASE, profile=profile)
    trace, found = trace_of(models), outcome(models)
    assert trace.ranks == [0, 1, 2, 3]
    assert trace.end == pytest.approx(max(model.time for model in models))
    for rank in range(4):
        kinds = [e.kind for e in trace.events_of(rank)]
        assert kinds.count("F") == kinds.count("B") == 2 * 8 and kinds.count("update") == 2
    assert len(matched_messages(trace)) == 2 * 3 * 8
    assert all(send.start <= recv.end for send, recv in matched_messages(trace))
    assert {e.info["micro_batch"] for e in trace.events if e.kind == "F"} == set(range(8))
    utils.write_chrome_trace(
        models, str(tmp_path / "new/3.json"), utils.get_global_batch_list(32, 4)
    )
    assert len(Trace.load(tmp_path / "new/3.json").events) == len(trace.events)
    assert {c.name for c in trace.counters} <= {"memory", "memory (elements)"}
    assert max(c.value for c in trace.counters) == pytest.approx(found.memory, rel=0.1)


def test_waits_are_where_a_rank_stood_in_a_receive():
    trace = trace_of(run(part2.part2_training_loop, 4, 8, 16, profile="classic"))
    assert with_waits(trace) is trace
    waits = [e for e in trace.events_of(3) if e.kind == "wait"]
    first = next(e for e in trace.events_of(3) if e.kind == "recv")
    assert waits[0].end == pytest.approx(first.start) and waits[0].name == "recv"
    causes = idle_by_cause(trace)
    assert causes[3]["wait"] > 0 == causes[3]["communication"]  # a blocked receiver waits


def test_overlap_shows_as_two_lanes():
    trace = trace_of(run(part4.part4_training_loop, 16, 6, 64, 4, profile="bytes"))
    assert {e.lane for e in trace.events_of(0)} == {"compute", "communication"}
    reduces = [e for e in trace.events_of(0) if e.kind == "reduce-scatter"]
    work = [e for e in trace.events_of(0) if e.kind == "B"]
    assert any(r.start < w.end and w.start < r.end for r in reduces for w in work)
    assert reduces[0].info["group"] == list(range(16))
