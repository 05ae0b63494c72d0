"""A paced run beside its simulation: the same actions, messages and waiting, each in its place."""

import functools

from helpers.pipeline import Pace, Pipeline
from helpers.ranks import launch
from helpers.schedules import from_trace, one_f_one_b, zb_v
from helpers.simulate import measured, simulate
from helpers.trace import Recorder, messages

from .models import cut_model, loss, make_batch, make_model

PACE = Pace(forward=0.01, input_grad=0.012, weight_grad=0.008)
SCHEDULES = [one_f_one_b(4, 6), zb_v(4, 6)]


def paced():
    import torch.distributed as dist

    rank, traces = dist.get_rank(), []
    for schedule in SCHEDULES:
        parts = cut_model(make_model(), schedule.stages)
        recorder = Recorder(rank)
        stages = {number: parts[number] for number in schedule.stages_of(rank)}
        pipeline = Pipeline(schedule, stages, loss=loss, recorder=recorder, pace=PACE)
        pipeline.step(*make_batch())
        traces.append(recorder.trace())
    return traces


@functools.cache
def launched():
    return launch(paced, 4, quiet=True)


def runs():
    """Each schedule with the traces of its ranks."""
    return zip(SCHEDULES, zip(*launched(), strict=True), strict=True)


def links(trace):
    return {(send.rank, send.info["peer"], send.info["tag"]) for send, _ in messages(trace)}


def test_a_paced_run_is_the_simulated_one():
    for schedule, traces in runs():
        real = traces[0].merged(*traces[1:])
        foretold = simulate(schedule, PACE.costs()).trace
        assert from_trace(real).ranks == from_trace(foretold).ranks == schedule.ranks
        assert links(real) == links(foretold)
        assert all(s.info["bytes"] == r.info["bytes"] > 0 for s, r in messages(real))
        assert len(measured(real).forward) == schedule.stages


def test_no_action_is_done_before_its_time():
    for schedule, traces in runs():
        for trace, actions in zip(traces, schedule.ranks, strict=True):
            computing = [e for e in trace.events if e.kind in "FBIW"]
            took = max(e.end for e in computing) - min(e.start for e in computing)
            # The first action counts from when it was given its input, just before its event.
            assert took > sum(map(PACE.seconds, actions)) - 0.005


def test_what_is_kept_is_counted_over_time():
    for schedule, traces in runs():
        for trace, actions in zip(traces, schedule.ranks, strict=True):
            flying = [c.value for c in trace.counters if c.name == "in flight"]
            assert len(flying) == len(actions) and flying[-1] == 0
            kept = [c.value for c in trace.counters if c.name == "memory"]
            assert max(kept) > 0 and kept[-1] == 0
