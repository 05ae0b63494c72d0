"""The naive pipeline: the model is cut into stages, one a rank, and a batch walks through them.

    python intro_PP_naive.py 0       one process for each rank: 0, 1 and 2
    ./run.sh                         all three at once (run.bat on Windows)
    torchrun --nproc-per-node 3 intro_PP_naive.py

The last rank prints the loss of each step. At any time one rank works, and the others wait.
"""

import argparse

import torch
import torch.distributed as dist

from helpers.plain_errors import plain_errors
from helpers.ranks import connect, disconnect
from helpers.ranks.flags import add_rank_flags, place_from
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import (
    add_training_flags,
    make_model,
    make_optimizer,
    make_stories,
    make_tokenizer,
    settle,
)
from simplellm.slicing import slice_stage


def read_flags(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_rank_flags(parser, ranks=3)
    add_training_flags(parser, batch_size=3)
    parser.add_argument("--trace", metavar="FOLDER", help="leave a trace of each rank there")
    return settle(parser.parse_args(arguments))


def forward_backward(stage, ids, place, recorder):
    """Take one batch through this rank's stage, forward and backward.

    stage: rank 0 holds the first one, ids (B, S) -> (B, S, dmodel); the last one gives logits.
    ids: the batch, the same on every rank; the first stage reads it, the last one compares with it.

    recorder: each pass forward goes inside recorder.span("F"), each backward inside span("B").

    Adds the gradients of the batch's mean loss to those in the stage's parameters. Gives the loss
    on the last rank, None elsewhere.
    """
    rank, last = place.rank, place.world_size - 1
    shape = (*ids.shape, stage.config.dmodel)  # of what one stage sends to the next
    # BEGIN SOLUTION PP-1
    if rank == 0:
        x = ids
    else:
        x = torch.empty(shape, device=ids.device)
        with recorder.span("recv", peer=rank - 1):
            dist.recv(x, rank - 1)
        x.requires_grad_()  # so that backward leaves the gradient that the stage before needs
    with recorder.span("F"):
        y = stage(x)
        loss = causalLLMLoss(y, ids, stage.config.vocab_size) if rank == last else None
    if rank < last:
        with recorder.span("send", peer=rank + 1):
            dist.send(y.detach(), rank + 1)
        gradient = torch.empty(shape, device=ids.device)
        with recorder.span("recv", peer=rank + 1):
            dist.recv(gradient, rank + 1)
    with recorder.span("B"):
        if rank == last:
            loss.backward()
        else:
            y.backward(gradient)
    if rank > 0:
        with recorder.span("send", peer=rank - 1):
            dist.send(x.grad, rank - 1)
    return loss
    # END SOLUTION


def train(options, place, device, say=print):
    """Train for `options.steps` steps; give this rank's losses, its stage and the trace.

    say(step, loss): called on the last rank after each step. Other ranks have no losses.
    """
    torch.manual_seed(options.seed)  # the same whole model on every rank, cut alike
    tokenizer = make_tokenizer(options)
    whole = make_model(options, tokenizer)
    stage = slice_stage(whole, place.rank, place.world_size, device)
    # The first stage reads the stories, and the last one compares with them.
    stories = iter(make_stories(options, tokenizer, quiet=place.rank > 0))
    optimizer = make_optimizer(options, stage)
    recorder = Recorder(rank=place.rank)
    losses = []
    dist.barrier()  # all ranks begin together

    for step in range(options.steps):
        ids = next(stories).to(device)
        optimizer.zero_grad()
        loss = forward_backward(stage, ids, place, recorder)
        with recorder.span("update"):
            optimizer.step()
        if loss is not None:
            losses.append(check_finite(loss, step))
            say(step, losses[-1])

    return losses, stage, recorder.trace()


def main():
    options = read_flags()
    place = place_from(options)
    device = connect(place, options.backend, options.timeout)
    _, _, trace = train(options, place, device)
    if options.trace:
        trace.save(f"{options.trace}/rank{place.rank}.json")
    disconnect()


if __name__ == "__main__":
    with plain_errors():
        main()
