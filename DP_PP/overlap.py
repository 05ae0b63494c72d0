"""The average down the columns on a slow link: after the step, or while it still goes on.

    python overlap.py                   six ranks, then the step time of both ways

Each rank holds two chunks, as in an interleaved pipeline. The gradients of the later chunk are
complete before those of the earlier one, so its average can travel while the rank still computes:
`Pipeline` calls `gradients_ready(stage)` at that moment. The stages sleep where a model would
compute (`helpers.pipeline.Pace`), so that six ranks fit on two cores.
"""

import torch
import torch.distributed as dist

from helpers.grid import Grid, make_groups
from helpers.network import Link, slow_link
from helpers.parallel.overlap import start_mean
from helpers.pipeline import Pace, Pipeline
from helpers.ranks import launch
from helpers.schedules import interleaved
from helpers.trace import Recorder

GRID, MICRO_BATCHES, WIDTH = Grid(dp=2, pp=3), 6, 256  # a stage has 0.26 MB of gradients
PACE = Pace(forward=0.01, input_grad=0.01, weight_grad=0.01)
LINK = Link(megabits=35)  # down a column: 60 ms for the average of one stage; rows are fast


class Columns:
    """Averages the gradients of this rank's stages with the ranks that hold the same ones."""

    def __init__(self, stages, group, recorder):
        self.stages, self.group, self.recorder = stages, group, recorder
        self.started = []

    def start(self, stage):
        """Start the average of one stage; the rank goes on."""
        gradients = [p.grad for p in self.stages[stage].parameters()]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        future = start_mean(flat, self.recorder, f"stage {stage}", self.group)
        self.started.append((future, flat, gradients))

    def finish(self):
        """Wait for what was started, and put the means where the gradients are."""
        for future, flat, gradients in self.started:
            future.wait()
            sizes = [gradient.numel() for gradient in gradients]
            for gradient, part in zip(gradients, flat.split(sizes), strict=True):
                gradient.copy_(part.view_as(gradient))
        self.started.clear()


def one_step(overlap):
    """What each rank runs: a step that is not measured, then one that is; return its trace."""
    torch.set_num_threads(1)
    rank, groups = dist.get_rank(), make_groups(GRID)
    schedule = interleaved(GRID.pp, MICRO_BATCHES, chunks=2)
    mine = schedule.stages_of(GRID.coordinates(rank).pp)
    stages = {stage: torch.nn.Linear(WIDTH, WIDTH) for stage in mine}
    recorder = Recorder(rank, enabled=False)
    columns = Columns(stages, groups.dp, recorder)
    ready = columns.start if overlap else None
    loss = torch.nn.functional.mse_loss
    pipeline = Pipeline(
        schedule, stages, groups.pp, loss, recorder=recorder, pace=PACE, gradients_ready=ready
    )
    x = torch.ones(MICRO_BATCHES, WIDTH)
    with slow_link(LINK, only=["all_reduce"]):
        for recorder.enabled in (False, True):
            dist.barrier()
            pipeline.step(x, x)
            for stage in () if overlap else mine:
                columns.start(stage)
                columns.finish()
            columns.finish()
    return recorder.trace()


def run(overlap):
    """Run both steps on six ranks; return the trace of all."""
    first, *others = launch(one_step, GRID.size, (overlap,), quiet=True, checked=False)
    return first.merged(*others)


if __name__ == "__main__":
    print(f"after the step   {run(False).duration:.3f} s")
    print(f"while it goes on {run(True).duration:.3f} s")
