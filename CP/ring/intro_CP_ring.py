"""Context parallel: each rank has some positions of every sequence, and attention goes in a ring.

    python intro_CP_ring.py 0        one process for each rank: 0, 1, 2 and 3
    ./run.sh                         all four at once (run.bat on Windows)
    ./run.sh --cp 2                  two data-parallel replicas of two ranks each
    torchrun --nproc-per-node 4 intro_CP_ring.py

Rank 0 prints the loss of each step.
"""

import torch.distributed as dist
from ring_attention import Ring, ring_attention
from zigzag import LAYOUTS

from helpers.grid import Grid, make_groups
from helpers.parallel.context import add_up_gradients, equal_chunks, following, token_loss
from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder
from simplellm.losses import check_finite
from simplellm.options import TrainingFlags, make_optimizer, make_stories, positive, prepare


def add_flags(flags):
    """Add those that every way to share a sequence has, and return the parser."""
    add_run_flags(flags, ranks=4)
    flags.add_argument("--cp", type=positive, help="ranks that share a sequence (all)")
    flags.add_argument("--apart", action="store_true", help="stories don't look at each other")
    return flags


def read_flags(arguments=None):
    flags = add_flags(TrainingFlags(__doc__, batch_size=1))
    text = "which positions a rank has: zigzag or contiguous (zigzag)"
    flags.add_argument("--layout", choices=LAYOUTS, default="zigzag", help=text)
    return flags.parse_args(arguments)


def make_grid(options, ranks):
    """Lay the ranks out: neighbors share a sequence. ValueError if it can't be cut so."""
    cp = options.cp or ranks
    equal_chunks(options.seq_l, 2 * cp if options.layout == "zigzag" else cp)
    return Grid(dp=max(1, ranks // cp), cp=cp).require(ranks)


def in_a_ring(positions, documents, group, recorder):
    """Return what takes the place of `attend` in every layer."""
    return ring_attention(Ring(group, recorder), positions, documents)


def train(options, place, device, say=print, way=in_a_ring, add_up=add_up_gradients):
    """Train for `options.steps` steps; return the losses, the model and the trace.

    say(step, loss): called on rank 0 after each step. Every rank has its replica's losses.
    way: returns the attention of a step; see `in_a_ring`. add_up: makes each rank's gradients those
    of all.
    """
    grid = make_grid(options, place.world_size)
    here, groups = grid.coordinates(place.rank), make_groups(grid)
    # Drawn from one seed on every rank: all have the same whole model.
    tokenizer, net = prepare(options, device)
    # All ranks of one sequence read the same stories.
    stories = iter(make_stories(options, tokenizer, here.dp, grid.dp, quiet=here.cp > 0))
    optimizer = make_optimizer(options, net)
    recorder = Recorder(rank=place.rank)
    cut = LAYOUTS[options.layout]
    positions = [cut(options.seq_l, grid.cp, rank).to(device) for rank in range(grid.cp)]
    mine = positions[here.cp]
    losses = []
    dist.barrier()  # all ranks begin together

    for step in range(options.steps):
        ids = next(stories).to(device)
        documents = None
        if options.apart:  # a story ends with its end-of-text token
            ends = (ids == tokenizer.eos_id).long()
            documents = ends.cumsum(1) - ends
        targets = following(ids)  # before the cut
        mix = way(positions, documents, groups.cp, recorder)
        for block in net.model.layers:
            block.self_attn.mix = mix
        optimizer.zero_grad()
        with recorder.span("F"):
            logits = net(ids[:, mine], positions=mine)
            loss = token_loss(logits, targets[:, mine], tokens=ids[:, 1:].numel())
        with recorder.span("B"):
            loss.backward()
        with recorder.span("all-reduce"):
            add_up(net, replicas=grid.dp)
            whole = loss.detach().clone()
            dist.all_reduce(whole, group=groups.cp)
        with recorder.span("update"):
            optimizer.step()
        losses.append(check_finite(whole, step))
        if place.rank == 0:
            say(step, losses[-1])

    return losses, net, recorder.trace()


if __name__ == "__main__":
    run_as_rank(read_flags, train, fits=make_grid)
