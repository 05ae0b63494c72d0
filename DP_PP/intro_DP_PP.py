"""DP x PP: two pipelines of three stages; each stage averages its gradients with its twin.

    python intro_DP_PP.py 0         one process for each rank: 0 to 5
    ./run.sh                        all six at once (run.bat on Windows)
    torchrun --nproc-per-node 6 intro_DP_PP.py

Ranks 0, 1 and 2 are the first pipeline, 3, 4 and 5 the second. Each pipeline reads its own stories,
in three micro-batches; the last rank of each prints its loss of each step.
"""

import argparse

import torch
import torch.distributed as dist

from helpers.grid import Grid, make_groups
from helpers.plain_errors import plain_errors
from helpers.ranks import connect, disconnect
from helpers.ranks.flags import add_rank_flags, place_from
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import (
    add_training_flags,
    check_micro_batches,
    make_model,
    make_optimizer,
    make_stories,
    make_tokenizer,
    positive,
    settle,
)
from simplellm.slicing import slice_stage


def read_flags(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_rank_flags(parser, ranks=6)
    add_training_flags(parser, batch_size=3)
    parser.add_argument("--micro-batches", type=positive, default=3, help="of a batch (3)")
    parser.add_argument("--stages", type=positive, default=3, help="of each pipeline (3)")
    parser.add_argument("--trace", metavar="FOLDER", help="leave a trace of each rank there")
    return check_micro_batches(settle(parser.parse_args(arguments)))


def forward_backward(stage, ids, micro_batches, pipeline, recorder):
    """Take one batch through this rank's stage in micro-batches: 1F1B inside one pipeline.

    stage: rank 0 holds the first one, ids (B, S) -> (B, S, dmodel); the last one gives logits.
    ids: the pipeline's batch, the same on its ranks. micro_batches: B must be a multiple of it.
    pipeline: the ranks of its stages, first to last; this rank is one of them.

    Adds the gradients of the batch's mean loss to those in the stage's parameters. Gives that loss
    on the last rank, None elsewhere.
    """
    rank = dist.get_rank()
    first, last = pipeline[0], pipeline[-1]
    parts = ids.chunk(micro_batches)
    shape = (*parts[0].shape, stage.config.dmodel)  # of what one stage sends to the next
    inputs, outputs, losses = {}, {}, []
    # BEGIN SOLUTION PP-3
    sends = []

    def forward(k):
        x = parts[k]
        if rank > first:
            x = torch.empty(shape, device=ids.device)
            with recorder.span("recv", peer=rank - 1, micro_batch=k):
                dist.recv(x, rank - 1)
            x.requires_grad_()  # so that backward leaves the gradient that the stage before needs
        with recorder.span("F", stage=rank - first, micro_batch=k):
            y = stage(x)
            if rank == last:  # each micro-batch is one share of the batch's mean
                y = causalLLMLoss(y, parts[k], stage.config.vocab_size) / micro_batches
                losses.append(y.detach())
        inputs[k], outputs[k] = x, y
        if rank < last:  # a plain send would meet the neighbour's: both would wait for ever
            sends.append((dist.isend(y.detach(), rank + 1), y))

    def backward(k):
        x, y, gradient = inputs.pop(k), outputs.pop(k), None  # not kept any longer
        if rank < last:
            gradient = torch.empty(shape, device=ids.device)
            with recorder.span("recv", peer=rank + 1, micro_batch=k):
                dist.recv(gradient, rank + 1)
        with recorder.span("B", stage=rank - first, micro_batch=k):
            y.backward(gradient)
        if rank > first:
            sends.append((dist.isend(x.grad, rank - 1), x))

    ahead = min(last - rank, micro_batches)  # how many go forward before the first comes back
    for k in range(ahead):
        forward(k)
    for k in range(micro_batches):
        if k + ahead < micro_batches:
            forward(k + ahead)
        backward(k)
    for work, _ in sends:  # a tensor must live until it has been sent
        work.wait()
    return sum(losses) if rank == last else None
    # END SOLUTION


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
    """Train for `options.steps` steps; give this rank's losses, its stage and the trace.

    say(step, loss): called on the last rank after each step. Other ranks have no losses.
    """
    grid = Grid(dp=place.world_size // options.stages, pp=options.stages).require(place.world_size)
    here = grid.coordinates(place.rank)
    pipeline = grid.group(place.rank, "pp")
    twins = make_groups(grid).dp  # the ranks that hold the same stage
    torch.manual_seed(options.seed)  # the same whole model on every rank, cut alike
    tokenizer = make_tokenizer(options)
    stage = slice_stage(make_model(options, tokenizer), here.pp, grid.pp, device)
    # Each pipeline reads its own part of the stories.
    stories = iter(make_stories(options, tokenizer, here.dp, grid.dp, quiet=here.pp > 0))
    optimizer = make_optimizer(options, stage)
    recorder = Recorder(rank=place.rank)
    losses = []
    dist.barrier()  # all ranks begin together

    for step in range(options.steps):
        optimizer.zero_grad()
        ids = next(stories).to(device)
        loss = forward_backward(stage, ids, options.micro_batches, pipeline, recorder)
        with recorder.span("all-reduce", group=list(grid.group(place.rank, "dp"))):
            average_gradients(stage, twins)
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
