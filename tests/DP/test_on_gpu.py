"""The recorded steps of lesson 11: what their script computes, and what was recorded with it."""

import on_gpu
import torch

from helpers.grade.task import ROOT
from helpers.trace import Trace


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
