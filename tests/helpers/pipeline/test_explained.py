"""A real paced step waits as its simulation does, for the same share of time."""

import pytest
import torch
import torch.distributed as dist

from helpers.draw.findings import TraceSummary
from helpers.pipeline import Pace, Pipeline
from helpers.ranks import launch
from helpers.schedules import one_f_one_b
from helpers.simulate import simulate
from helpers.trace import Recorder

pytestmark = pytest.mark.ranks

SCHEDULE, PACE = one_f_one_b(4, 8), Pace(forward=0.02, input_grad=0.02, weight_grad=0.02)


def paced():
    rank, loss = dist.get_rank(), torch.nn.functional.mse_loss
    recorder, stage = Recorder(rank, enabled=False), {rank: torch.nn.Linear(8, 8)}
    pipeline = Pipeline(SCHEDULE, stage, loss=loss, recorder=recorder, pace=PACE)
    x = torch.ones(SCHEDULE.micro_batches, 8)
    pipeline.step(x, x)  # the first step also loads parts of torch
    recorder.enabled = True
    dist.barrier()
    pipeline.step(x, x)
    return recorder.trace()


def share(part):
    return sum(map(part.waits, range(4))) / 4


def test_a_paced_step_waits_as_the_simulated_one_does():
    traces = launch(paced, ranks=4, quiet=True)
    real, plan = traces[0].merged(*traces[1:]), simulate(SCHEDULE, PACE.costs())
    measured, predicted = TraceSummary("measured", real), TraceSummary("predicted", plan.trace)
    assert measured.duration > 0.97 * predicted.duration  # a sleep is never shorter
    if abs(measured.duration / predicted.duration - 1) < 0.03:
        assert abs(share(measured) - share(predicted)) < 0.03
    print(f"{measured.duration / predicted.duration - 1:+.1%}", share(measured), share(predicted))
