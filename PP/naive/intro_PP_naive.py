"""The naive pipeline: the model is cut into stages, one a rank, and a batch walks through them.

    python intro_PP_naive.py 0       one process for each rank: 0, 1 and 2
    ./run.sh                         all three at once (run.bat on Windows)
    torchrun --nproc-per-node 3 intro_PP_naive.py

The last rank prints the loss of each step. At any time one rank works, and the others wait.
"""

import torch
import torch.distributed as dist

from helpers.hang.monitor import record_messages
from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import TrainingFlags, make_optimizer, make_stories, prepare
from simplellm.slicing import layer_counts


def read_flags(arguments=None):
    return add_run_flags(TrainingFlags(__doc__, batch_size=3), ranks=3).parse_args(arguments)


def forward_backward(stage, ids, place, recorder):
    """Take one batch through this rank's stage, forward and backward.

    stage: rank 0 holds the first one, ids (B, S) -> (B, S, dmodel); the last one returns logits.
    ids: the batch, the same on every rank; the first stage reads it, the last one compares with it.

    recorder: each pass forward goes inside recorder.span("F"), each backward inside span("B"). It
    records messages by itself.

    Adds the gradients of the batch's mean loss to those in the stage's parameters. Returns the
    loss on the last rank, None elsewhere.
    """
    rank, last = place.rank, place.world_size - 1
    shape = (*ids.shape, stage.config.dmodel)  # of what one stage sends to the next
    # BEGIN SOLUTION PP-1
    if rank == 0:
        x = ids
    else:
        x = torch.empty(shape, device=ids.device)
        dist.recv(x, rank - 1)
        x.requires_grad_()  # so that backward leaves the gradient that the stage before needs
    with recorder.span("F"):
        y = stage(x)
        loss = causalLLMLoss(y, ids, stage.config.vocab_size) if rank == last else None
    if rank < last:
        dist.send(y.detach(), rank + 1)
        gradient = torch.empty(shape, device=ids.device)
        dist.recv(gradient, rank + 1)
    with recorder.span("B"):
        if rank == last:
            loss.backward()
        else:
            y.backward(gradient)
    if rank > 0:
        dist.send(x.grad, rank - 1)
    return loss
    # END SOLUTION


def train(options, place, device, say=print):
    """Train for `options.steps` steps; return this rank's losses, its stage and the trace.

    say(step, loss): called on the last rank after each step. Other ranks have no losses.
    """
    # Drawn from one seed on every rank: the same whole model, cut alike.
    tokenizer, stage = prepare(options, device, place.rank, place.world_size)
    # The first stage reads the stories, and the last one compares with them.
    stories = iter(make_stories(options, tokenizer, quiet=place.rank > 0))
    optimizer = make_optimizer(options, stage)
    recorder = Recorder(rank=place.rank)
    losses = []
    dist.barrier()  # all ranks begin together

    for step in range(options.steps):
        ids = next(stories).to(device)
        optimizer.zero_grad()
        with record_messages(recorder):
            loss = forward_backward(stage, ids, place, recorder)
        with recorder.span("update"):
            optimizer.step()
        if loss is not None:
            losses.append(check_finite(loss, step))
            say(step, losses[-1])

    return losses, stage, recorder.trace()


if __name__ == "__main__":
    run_as_rank(read_flags, train, fits=lambda options, ranks: layer_counts(options.layers, ranks))
