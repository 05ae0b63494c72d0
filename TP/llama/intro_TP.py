"""Tensor parallel: every rank holds a part of each layer, and all work on the same stories.

    python intro_TP.py 0             one process for each rank: 0 and 1
    ./run.sh                         both at once (run.bat on Windows)
    torchrun --nproc-per-node 2 intro_TP.py

Rank 0 prints the loss of each step.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from helpers.parallel import require_heads
from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import TrainingFlags, make_optimizer, make_stories, prepare


def read_flags(arguments=None):
    return add_run_flags(TrainingFlags(__doc__, batch_size=3), ranks=2).parse_args(arguments)


def all_reduced(x):
    """Return the sum of all ranks' x, as a new tensor."""
    x = x.contiguous().clone()
    dist.all_reduce(x)
    return x


class Copy(torch.autograd.Function):
    """Hand x, equal on all ranks, to a layer of which each rank computes another part.

    forward returns `x.view_as(x)` where x itself is meant: autograd wants a new tensor.
    """

    @staticmethod
    def forward(ctx, x):
        # BEGIN SOLUTION TP-5
        return x.view_as(x)
        # END SOLUTION

    @staticmethod
    def backward(ctx, gradient):
        # BEGIN SOLUTION TP-5
        return all_reduced(gradient)  # each rank has the gradient of its own use
        # END SOLUTION


class Sum(torch.autograd.Function):
    """Add up the terms of all ranks, each of which then computes the same with the sum."""

    @staticmethod
    def forward(ctx, x):
        # BEGIN SOLUTION TP-5
        return all_reduced(x)
        # END SOLUTION

    @staticmethod
    def backward(ctx, gradient):
        # BEGIN SOLUTION TP-5
        return gradient  # of a + b, with respect to a
        # END SOLUTION


class PartLinear(nn.Module):
    """This rank's part of a linear layer without a bias, whose weight is (out, in).

    dim 0: some outputs. x (…, in), equal on all ranks, -> (…, out / ranks).
    dim 1: some inputs. x (…, in / ranks) -> the whole (…, out), equal on all ranks.
    whole: the layer to take a part of, the same on all ranks; rank 0 has the first part.
    """

    def __init__(self, whole, dim, rank, ranks):
        super().__init__()
        self.dim = dim
        # BEGIN SOLUTION TP-6
        self.weight = nn.Parameter(whole.weight.detach().chunk(ranks, dim)[rank].clone())
        # END SOLUTION

    def forward(self, x):
        # BEGIN SOLUTION TP-6
        if self.dim == 0:
            return F.linear(Copy.apply(x), self.weight)
        return Sum.apply(F.linear(x, self.weight))
        # END SOLUTION


def cut_layers(net, rank, ranks):
    """Cut queries, keys, values, gate and up by outputs; what reads them, by its inputs."""
    for name, module in list(net.named_modules()):
        parent, _, last = name.rpartition(".")
        if last.endswith("_proj"):
            dim = 1 if last in ("o_proj", "down_proj") else 0
            setattr(net.get_submodule(parent), last, PartLinear(module, dim, rank, ranks))


def train(options, place, device, say=print):
    """Train for `options.steps` steps; give the losses, this rank's model and the trace.

    say(step, loss): called on rank 0 after each step. Every rank has the losses.
    """
    require_heads([options.heads], place.world_size)
    # Drawn from one seed on every rank: the same whole model, cut alike.
    tokenizer, net = prepare(options, device)
    cut_layers(net, place.rank, place.world_size)
    # All ranks read the same stories.
    stories = iter(make_stories(options, tokenizer, quiet=place.rank > 0))
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
        with recorder.span("update"):
            optimizer.step()
        losses.append(check_finite(loss, step))
        if place.rank == 0:
            say(step, losses[-1])

    return losses, net, recorder.trace()


if __name__ == "__main__":
    run_as_rank(read_flags, train, fits=lambda options, n: require_heads([options.heads], n))
