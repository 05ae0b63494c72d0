"""The recorded steps of lesson 11: what their script computes, and what was recorded with it."""

import torch

from helpers.grade.task import ROOT, load_module
from helpers.trace import Event, Trace

on_gpu = load_module(ROOT / "DP/ddp/on_gpu.py", "on_gpu")
gaps = load_module(ROOT / "DP/ddp/gaps.py", "gaps")


def test_the_step_trains(monkeypatch):
    monkeypatch.setattr(on_gpu, "VOCABULARY", 50)
    monkeypatch.setattr(on_gpu, "LENGTH", 8)
    seen, loss = [], on_gpu.causalLLMLoss
    monkeypatch.setattr(on_gpu, "causalLLMLoss", lambda *a: seen.append(loss(*a)) or seen[-1])
    step = on_gpu.make_step(64, "cpu")
    for _ in range(3):
        step()
    assert seen[2] < seen[0] and torch.isfinite(seen[2])


def test_the_record_is_of_these_runs_and_no_kernel_began_before_its_launch():
    trace = Trace.load(ROOT / "DP/ddp/gpu_steps.json.gz")
    runs = trace.meta["runs"]
    assert tuple((run["width"], run["graph"]) for run in runs) == on_gpu.RUNS
    for rank, run in enumerate(runs):
        events = trace.events_of(rank)
        assert sum(event.duration for event in events) < run["seconds"]
        assert all(event.info["launched"] <= event.start for event in events)


def test_a_gap_before_a_kernel_is_the_hosts_only_if_the_launch_came_late():
    late, queued = {"launched": 2.5}, {"launched": 2.6}
    times = ((0, 1, {"launched": 0}), (3, 4, late), (5, 6, queued))
    events = [Event(0, "other", start, end, info=info) for start, end, info in times]
    assert list(gaps.idle(events)) == [("launch", 2), ("between kernels", 1)]
