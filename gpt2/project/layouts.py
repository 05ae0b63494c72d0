"""Replicas, stages, or both: a step on ranks that sleep, over a link that holds messages back."""

import time
from dataclasses import dataclass, replace

import torch
import torch.distributed as dist
from torch import nn

from helpers.grid import Grid, make_groups
from helpers.network import Link, slow_link
from helpers.pipeline import Pace, Pipeline
from helpers.schedules import Schedule, one_f_one_b
from helpers.simulate import simulate

WIDTH = 8  # a stage maps rows of 8 numbers to rows of 8: all of its time is the pace's


@dataclass(frozen=True)
class Work:
    """A training step, and the machine it runs on.

    ranks: as many micro-batches, so that with data parallelism alone each has one.
    compute: seconds that one device takes for a micro-batch, forward and backward.
    gradients: bytes of all of them; only they are slowed by the link.
    """

    compute: float
    ranks: int = 8
    gradients: int = 0
    link: Link = Link(1000)

    def plan(self, dp: int) -> tuple[Schedule, Pace]:
        """Return what each of `dp` pipelines runs, and how long its actions take."""
        stages = self.ranks // dp
        third = self.compute / stages / 3
        return one_f_one_b(stages, self.ranks // dp), Pace(third, third, third)


def planned(work: Work, dp: int) -> float:
    """Return the seconds of a step with `dp` replicas, as the simulator predicts them."""
    schedule, pace = work.plan(dp)
    average = work.link.all_reduce_seconds(work.gradients / schedule.stages, ranks=dp)
    return simulate(schedule, replace(pace.costs(), all_reduce=average)).trace.duration


def measured(works: list[Work], dps: list[int], repeat: int = 1) -> list[dict[int, float]]:
    """Return, on each rank, the seconds of a step: for each of `works`, with `dp` replicas."""
    torch.set_num_threads(1)
    found = [{} for _ in works]
    for dp in dps:
        groups = make_groups(Grid(dp=dp, pp=works[0].ranks // dp))
        _step(Work(0.0, works[0].ranks), dp, groups)  # the first step loads parts of torch
        for work, seconds in zip(works, found, strict=True):
            seconds[dp] = min(_step(work, dp, groups) for _ in range(repeat))
    return found


def _step(work: Work, dp: int, groups) -> float:
    schedule, pace = work.plan(dp)
    stage, average = nn.Linear(WIDTH, WIDTH), torch.zeros(work.gradients // 4 // schedule.stages)
    mine = dist.get_rank(groups.pp)
    pipeline = Pipeline(schedule, {mine: stage}, groups.pp, nn.functional.mse_loss, pace=pace)
    x = torch.ones(schedule.micro_batches, WIDTH)
    with slow_link(work.link, only=["all_reduce"]):
        dist.barrier()
        begun = time.perf_counter()
        pipeline.step(x, x)
        dist.all_reduce(average, group=groups.dp)
        dist.barrier()
        return time.perf_counter() - begun
