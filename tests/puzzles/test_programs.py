"""The scripts as programs, and the traces that they leave.

The parts with their own cases are run as programs by tests/frozen.
"""

import os
import subprocess
import sys

import part2
import part3
import part4
import pytest
from cluster import outcome, run, trace_of
from conftest import ROOT
from utils import get_global_batch_list, write_chrome_trace

from helpers.trace import Trace, idle_by_cause, matched_messages, with_waits

CASE = (4, 8, 32, 4)


def python(script, *flags, cwd):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "puzzles" / script), *flags]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "flags", "says"),
    [
        ("part2.py", [], "85.9 GB\n  at part2.py, line "),
        ("part0.py", ["--ranks", "5"], "a batch of 32 samples cannot be divided into 5 ranks"),
        ("part1.py", ["--profile", "fast"], "error: there is no profile 'fast'"),
        ("eight.py", ["nine"], "there is no puzzle 'nine'; they are: basic, accumulation, ddp"),
    ],
)
def test_wrong_flags_end_with_one_sentence(script, flags, says, tmp_path):
    done = python(script, *flags, cwd=tmp_path)
    assert done.returncode == 1 and says in done.stderr and done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_scripts_print_what_a_step_takes_and_leave_its_trace(tmp_path):
    done = python("eight.py", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.count("target") == 16
    basic = "basic: 17 steps (target 17), memory 2,621,440 elements (target 2,621,440)"
    assert basic in done.stdout.splitlines()
    assert "(target 1,835,008), a star" in done.stdout
    done = python("part1.py", "--profile", "classic", cwd=tmp_path)
    assert "0.184362 s, MFU 19.08 %" in done.stdout
    traces = list((tmp_path / "debug_traces").glob("*.json"))
    assert len(traces) == 9 and all(Trace.load(path).events for path in traces)


@pytest.mark.parametrize("profile", ["bytes", "classic", "steps"])
def test_events_of_a_pipeline_and_its_file(profile, tmp_path):
    models = run(part3.part3_training_loop, *CASE, profile=profile)
    trace, found = trace_of(models), outcome(models)
    assert trace.ranks == [0, 1, 2, 3] and trace.end == pytest.approx(found.end)
    for rank in range(4):
        kinds = [e.kind for e in trace.events_of(rank)]
        assert kinds.count("F") == kinds.count("B") == 2 * 8 and kinds.count("update") == 2
    assert len(matched_messages(trace)) == 2 * 3 * 8
    assert all(send.start <= recv.end for send, recv in matched_messages(trace))
    assert {e.info["micro_batch"] for e in trace.events if e.kind == "F"} == set(range(8))
    write_chrome_trace(models, str(tmp_path / "new/3.json"), get_global_batch_list(32, 4))
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
