"""Survival: a training that is saved, killed, and goes on, on the same layout or another one.

    python intro_survival.py 0                one process for each rank: 0 to 5
    ./run.sh --die-at 13                      all six; rank 1 is killed in the middle of step 13
    ./run.sh                                  again: goes on after the last save
    ./run.sh --stages 2 --steps 30            … as three pipelines of two stages
    python intro_survival.py --world-size 1 --stages 1 --steps 40       … on one device
    torchrun --nproc-per-node 6 --max-restarts 1 intro_survival.py --die-at 13

Every layout learns from the same batches: --batch-size is that of all pipelines together. The last
rank of the first pipeline prints the loss of the whole batch.
"""

import os
import signal
from functools import partial
from itertools import islice

import torch.distributed as dist

from helpers.checkpoint import Training, resume, save
from helpers.grid import Grid, make_groups
from helpers.pipeline import Pipeline
from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.schedules import one_f_one_b
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import TrainingFlags, make_optimizer, make_stories, positive, prepare
from simplellm.slicing import whole_name


def read_flags(arguments=None):
    flags = TrainingFlags(__doc__, batch_size=6, micro_batches=2, stages=3, steps=20)
    add = flags.add_argument_group("survival").add_argument
    add("--checkpoints", metavar="FOLDER", default="runs/checkpoints", help="(runs/checkpoints)")
    add("--every", type=positive, default=5, help="steps from one save to the next (5)")
    add("--die-at", type=int, metavar="STEP", help="kill rank 1 in this step, unless resumed")
    return add_run_flags(flags, ranks=6).parse_args(arguments)


def make_grid(options, ranks):
    """Lay the ranks out; raise ValueError if stages, ranks and batch do not fit together."""
    grid = Grid(max(1, ranks // options.stages), options.stages).require(ranks)
    if options.batch_size % grid.dp:
        raise ValueError(f"choose a --batch-size that the {grid.dp} pipelines can divide")
    return grid


def train(options, place, device, say=print):
    """Train until `options.steps` steps are done; return losses by step, where it began, the trace.

    say(step, loss): called after each step on the last rank of the first pipeline.
    """
    grid = make_grid(options, place.world_size)
    here, groups = grid.coordinates(place.rank), make_groups(grid)
    # Drawn from one seed on every rank: the same whole model, cut alike.
    tokenizer, stage = prepare(options, device, here.pp, grid.pp)
    optimizer = make_optimizer(options, stage)
    recorder = Recorder(rank=place.rank)
    loss_of = partial(causalLLMLoss, vocab_size=tokenizer.vocab_size)
    schedule = one_f_one_b(grid.pp, options.micro_batches)
    pipeline = Pipeline(schedule, {here.pp: stage}, groups.pp, loss=loss_of, recorder=recorder)

    # Names of the whole model: they say nothing of how the ranks have cut it.
    first = getattr(stage, "first_layer", 0)
    training = Training(stage, optimizer, name=lambda name: whole_name(name, first))
    done = resume(options.checkpoints, training)
    if place.rank == 0 and done.path:
        print(f"goes on after step {done.step - 1} from {done.path}", flush=True)
    # All ranks read all stories, so that a position means the same on every layout.
    stories = iter(make_stories(options, tokenizer, quiet=place.rank > 0))
    batches = islice(stories, done.position or 0, options.steps)
    losses = {}

    for step, batch in enumerate(batches, done.step):
        optimizer.zero_grad()
        ids = batch.chunk(grid.dp)[here.dp].to(device)
        outcome = pipeline.step(ids, ids)
        if step == options.die_at and place.rank == 1 and not done.path:
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        with recorder.span("all-reduce", group=list(grid.group(place.rank, "dp"))):
            for p in stage.parameters():
                dist.all_reduce(p.grad, dist.ReduceOp.AVG, groups.dp)
        with recorder.span("update"):
            optimizer.step()
        if outcome.loss is not None:
            dist.all_reduce(outcome.loss, dist.ReduceOp.AVG, groups.dp)
            losses[step] = check_finite(outcome.loss, step)
            if here.dp == 0:
                say(step, losses[step])
        if (step + 1) % options.every == 0:
            save(options.checkpoints, training, step + 1, position=step + 1)

    return losses, done.step, recorder.trace()


if __name__ == "__main__":
    run_as_rank(read_flags, train, fits=make_grid)
