"""Run a plan on real processes that sleep where a model would compute.

The processes, the messages and the waiting are real; only the arithmetic is replaced by a pause.
"""

from dataclasses import dataclass

import torch
import torch.distributed as dist

from helpers.pipeline.pace import Pace
from helpers.pipeline.pipeline import Pipeline
from helpers.ranks import launch
from helpers.schedules import Schedule
from helpers.trace import Recorder, Trace

WIDTH = 8  # the stages are tiny: what they compute must fit into their pause


@dataclass(frozen=True)
class PacedStep:
    """One measured step; compare it with what `simulate(schedule, pace.costs())` predicts.

    trace: of all ranks. most_kept: of each rank, the most micro-batches whose activations it held.
    """

    trace: Trace
    most_kept: tuple[int, ...]

    @property
    def step_time(self) -> float:
        """Seconds from the first event of any rank to the last."""
        return self.trace.duration


def run_paced(schedule: Schedule, pace: Pace) -> PacedStep:
    """Run one step of a schedule on real processes, one for each rank, and record it.

    Args:
        schedule: who computes what in which order; each of its ranks becomes a process.
        pace: the seconds that each action takes.

    Raises:
        ValueError: If the pace does not fit the schedule.
        helpers.ranks.RankFailed: If a rank fails or the schedule deadlocks.
    """
    pace.require(schedule)
    ranks = launch(_paced_step, schedule.size, args=(schedule, pace), quiet=True, checked=False)
    traces = [trace for trace, _ in ranks]
    return PacedStep(traces[0].merged(*traces[1:]), tuple(most for _, most in ranks))


def _paced_step(schedule: Schedule, pace: Pace) -> tuple[Trace, int]:
    """What each rank runs."""
    torch.set_num_threads(1)
    rank, loss = dist.get_rank(), torch.nn.functional.mse_loss
    stages = {stage: torch.nn.Linear(WIDTH, WIDTH) for stage in schedule.stages_of(rank)}
    recorder = Recorder(rank, enabled=False)
    pipeline = Pipeline(schedule, stages, loss=loss, recorder=recorder, pace=pace)
    x = torch.ones(schedule.micro_batches, WIDTH)
    pipeline.step(x, x)  # the first step of a process also loads parts of torch: leave it out
    recorder.enabled = True
    dist.barrier()
    outcome = pipeline.step(x, x)
    trace = recorder.trace()
    # The tiny stages keep bytes that say nothing about a model: micro-batches are what counts.
    trace.counters = [each for each in trace.counters if each.name != "memory"]
    return trace, outcome.most_kept
