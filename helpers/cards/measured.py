"""Steps of real ranks, each with a fault that was planted: what a card shows in place of a model.

Ranks sleep where they would compute, so that four fit on two cores; processes, messages and waits
are real.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist

from helpers.pipeline import Pace, run_paced
from helpers.ranks import launch
from helpers.schedules import Schedule
from helpers.simulate import Costs
from helpers.trace import Recorder, Trace

TOLD = "These are the plan's times; answer for the plan. The picture is what real ranks took."
SCALE = 4  # a sleep ends up to a millisecond late: actions last four times as long as on paper


def pipeline_step(schedule: Schedule, costs: Costs) -> Trace:
    """Run a step whose actions take `costs`, in ms, without its latencies; return it in ms."""
    times = costs.forward if isinstance(costs.forward, list) else [costs.forward] * schedule.stages
    speeds = costs.speed if isinstance(costs.speed, list) else [costs.speed] * schedule.size
    paced = [t / speeds[schedule.rank_of[s]] / 1e3 for s, t in enumerate(times)]
    return in_ms(run_paced(schedule, Pace(paced, paced, paced)).trace)


def replica_step(step) -> Trace:
    """Run a step of `Replicas` on real ranks, and return it in ms."""
    ranks = launch(_replica, len(step.speed), (step,), quiet=True, checked=False)
    return in_ms(ranks[0].merged(*ranks[1:]))


def in_ms(trace: Trace) -> Trace:
    """Return the computing and the messages of a trace in seconds, from 0, in ms."""
    kept = [e for e in trace.from_zero().events if e.kind != "wait"]
    for event in kept:
        event.start, event.end = 1e3 * event.start, 1e3 * event.end
    return Trace(kept, {"unit": "ms"})


def _replica(step) -> Trace:
    """What a rank runs: sleeps for layers, and a thread as its link, one all-reduce at a time."""
    torch.set_num_threads(1)
    rank = dist.get_rank()
    groups = [(list(group), dist.new_group(list(group))) for group in step.groups]
    [(mine, group)] = [pair for pair in groups if rank in pair[0]]
    recorder, gradients = Recorder(rank), torch.ones(8)
    dist.all_reduce(gradients, group=group)  # the first one connects

    def average(layer: int) -> None:
        dist.barrier(group)  # a message begins when all have arrived
        with recorder.span("all-reduce", group=mine, layer=layer):
            over = time.perf_counter() + step.all_reduce / 1e3
            dist.all_reduce(gradients, group=group)
            time.sleep(max(0.0, over - time.perf_counter()))

    def compute(kind: str, ms: float, until: float, **info) -> float:
        with recorder.span(kind, **info):
            until += ms / step.speed[rank] / 1e3
            time.sleep(max(0.0, until - time.perf_counter()))
        return until

    with ThreadPoolExecutor(1) as link:
        link.submit(int).result()  # now its thread is there
        dist.barrier()
        clock = time.perf_counter() + step.input[rank] / 1e3
        time.sleep(max(0.0, clock - time.perf_counter()))
        clock = compute("F", step.forward, clock)
        for layer in reversed(range(step.layers)):
            clock = compute("B", step.backward, clock, micro_batch=layer)
            if step.overlap:
                link.submit(average, layer)
        for layer in reversed(range(step.layers)) if not step.overlap else ():
            link.submit(average, layer)
    return recorder.trace()
