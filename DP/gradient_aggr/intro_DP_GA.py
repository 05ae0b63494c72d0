"""Data parallel: every rank trains on its own stories, and all ranks average their gradients.

    python intro_DP_GA.py 0          one process for each rank: 0, 1 and 2
    ./run.sh                         all three at once (run.bat on Windows)
    torchrun --nproc-per-node 3 intro_DP_GA.py

Each rank prints its own loss of each step.
"""

import torch
import torch.distributed as dist

from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import TrainingFlags, make_optimizer, make_stories, prepare


def read_flags(arguments=None):
    return add_run_flags(TrainingFlags(__doc__, batch_size=1), ranks=3).parse_args(arguments)


def average_gradients(model, world_size):
    """Give every rank the mean of all ranks' gradients, in place.

    model: its parameters hold this rank's gradients in `.grad`; a parameter that takes no part
    has `.grad` None, on every rank alike, and stays so.
    world_size: the number of ranks.

    One all-reduce for each parameter is right. One for all, of a flat tensor, is faster: a message
    costs less than many small ones.
    """
    # BEGIN SOLUTION DP-1
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat, op=dist.ReduceOp.SUM)
    flat /= world_size
    parts = flat.split([gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))
    # END SOLUTION


def train(options, place, device, say=print):
    """Train, and call say(step, loss) after each step; return losses, model and trace."""
    # Drawn from one seed on every rank: all start with the same weights.
    tokenizer, net = prepare(options, device)
    stories = iter(make_stories(options, tokenizer, place.rank, place.world_size))
    optimizer = make_optimizer(options, net)
    recorder = Recorder(rank=place.rank)
    losses = []
    dist.barrier()  # all ranks begin together

    for step in range(options.steps):
        ids = next(stories).to(device)
        optimizer.zero_grad()
        with recorder.span("F"):
            loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        with recorder.span("B"):
            loss.backward()
        with recorder.span("all-reduce"):
            average_gradients(net, place.world_size)
        with recorder.span("update"):
            optimizer.step()
        losses.append(check_finite(loss, step))
        say(step, losses[-1])

    return losses, net, recorder.trace()


if __name__ == "__main__":
    run_as_rank(read_flags, train)
