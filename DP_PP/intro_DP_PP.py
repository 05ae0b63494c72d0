"""DP x PP: two pipelines of three stages; each stage averages its gradients with its twin.

    python intro_DP_PP.py 0         one process for each rank: 0 to 5
    ./run.sh                        all six at once (run.bat on Windows)
    torchrun --nproc-per-node 6 intro_DP_PP.py

Ranks 0, 1 and 2 are the first pipeline, 3, 4 and 5 the second. Each pipeline reads its own stories,
in three micro-batches, in the order of 1F1B; the last rank of each prints its loss of each step.
"""

from functools import partial

import torch
import torch.distributed as dist

from helpers.grid import Grid, make_groups
from helpers.pipeline import Pipeline
from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.schedules import one_f_one_b
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import TrainingFlags, make_optimizer, make_stories, prepare


def read_flags(arguments=None):
    flags = TrainingFlags(__doc__, batch_size=3, micro_batches=3, stages=3)
    return add_run_flags(flags, ranks=6).parse_args(arguments)


def make_grid(options, ranks):
    """Lay the ranks out as a grid: a row is a pipeline, a column holds one stage in each of them.

    Raises ValueError if the stages do not divide the ranks.
    """
    return Grid(dp=max(1, ranks // options.stages), pp=options.stages).require(ranks)


def average_gradients(stage, group):
    """Give every rank of `group` the mean of their gradients, in place.

    stage: its parameters hold this rank's gradients. group: the ranks that hold the same stage.
    """
    # BEGIN SOLUTION DP-PP-1
    gradients = [p.grad for p in stage.parameters()]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat, group=group)
    flat /= dist.get_world_size(group)
    parts = flat.split([gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))
    # END SOLUTION


def train(options, place, device, say=print):
    """Train for `options.steps` steps; return this rank's losses, its stage and the trace.

    It works for any grid: dp pipelines of `options.stages` stages each. A rank needs

    - its place: `make_grid`, its coordinates, and `make_groups(grid)`, whose .pp and .dp are the
      process groups of this rank's row and of its column;
    - its stage: `prepare(options, device, stage, stages)` draws the whole model from the seed, the
      same on every rank, and cuts one stage out of it;
    - its text: `make_stories(options, tokenizer, part, parts)`, one part for each pipeline: the
      first stage reads it as inputs, the last one as targets;
    - its row: a `Pipeline` that runs `one_f_one_b` with `options.micro_batches` over the row;
    - its column: `average_gradients` over the ranks that hold the same stage, before the update.

    The trace comes from a `Recorder(rank=...)`: Pipeline takes it, and the average and the update
    belong into spans of it, "all-reduce" and "update".

    say(step, loss): called on the last rank of each pipeline after each step. Other ranks have no
    losses, so their list stays empty.
    """
    # BEGIN SOLUTION DP-PP-2
    grid = make_grid(options, place.world_size)
    here, groups = grid.coordinates(place.rank), make_groups(grid)
    tokenizer, stage = prepare(options, device, here.pp, grid.pp)
    stories = iter(make_stories(options, tokenizer, here.dp, grid.dp, quiet=here.pp > 0))
    optimizer = make_optimizer(options, stage)
    loss_of = partial(causalLLMLoss, vocab_size=tokenizer.vocab_size)
    recorder, losses = Recorder(rank=place.rank), []
    schedule = one_f_one_b(grid.pp, options.micro_batches)
    pipeline = Pipeline(schedule, {here.pp: stage}, groups.pp, loss=loss_of, recorder=recorder)
    dist.barrier()  # no pipeline starts early

    for step in range(options.steps):
        optimizer.zero_grad()
        ids = next(stories).to(device)
        outcome = pipeline.step(ids, ids)
        with recorder.span("all-reduce", group=list(grid.group(place.rank, "dp"))):
            average_gradients(stage, groups.dp)
        with recorder.span("update"):
            optimizer.step()
        if outcome.loss is not None:  # on the last stage
            losses.append(check_finite(outcome.loss, step))
            say(step, losses[-1])

    return losses, stage, recorder.trace()
    # END SOLUTION


if __name__ == "__main__":
    run_as_rank(read_flags, train, fits=make_grid)
