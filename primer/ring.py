"""All-reduce as a ring, built from messages between neighbors.

    python -m helpers.ranks -n 4 ring.py                   a million numbers
    python -m helpers.ranks -n 4 ring.py --numbers 10      few numbers

Compares with dist.all_reduce, and prints how much each rank has sent.
"""

import argparse

import torch
import torch.distributed as dist

from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder
from simplellm.options import positive


def ring_all_reduce(tensor, rank, world_size):
    """Put the sum over all ranks into `tensor`, on every rank; return the bytes this rank sent.

    tensor: any shape and layout, any length, any number type; alike on all ranks.
    rank, world_size: this rank, and how many there are. A rank alone sends nothing.

    The ranks stand in a ring: rank r sends to its right neighbor, r + 1, and receives from its
    left one, r - 1. The tensor is cut into `world_size` parts, whose lengths differ by at most one.

    1. Reduce-scatter. In world_size - 1 steps each part travels once round the ring, and every
       rank adds its own numbers to it. Then each rank has the whole sum of one part.
    2. All-gather. In world_size - 1 more steps the finished parts travel round, and are kept.

    In a step, a rank sends one part and receives another at the same time. If all ranks called
    dist.send first, they would deadlock.

    Each rank sends 2 (n - 1) / n of the tensor. As long as the ranks themselves do the adding, the
    busiest of them can't send less (Patarasuk and Yuan 2009, doi.org/10.1016/j.jpdc.2008.09.002).
    All ranks get the same bits.
    """
    # BEGIN SOLUTION RC-1
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    flat = tensor.detach().flatten()  # the tensor's own memory, where that has no gaps; or a copy
    parts = flat.tensor_split(world_size)  # fewer numbers than ranks: some parts are empty
    sent = 0

    def pass_on(mine, theirs):
        sending = dist.P2POp(dist.isend, mine, right)
        receiving = dist.P2POp(dist.irecv, theirs, left)
        for message in dist.batch_isend_irecv([sending, receiving]):
            message.wait()
        return mine.nbytes

    for step in range(world_size - 1):  # reduce-scatter
        arrived = torch.empty_like(parts[(rank - step - 1) % world_size])
        sent += pass_on(parts[(rank - step) % world_size], arrived)
        parts[(rank - step - 1) % world_size].add_(arrived)
    # Now part rank + 1 is finished here.
    for step in range(world_size - 1):  # all-gather
        sent += pass_on(parts[(rank + 1 - step) % world_size], parts[(rank - step) % world_size])
    tensor.detach().copy_(flat.view(tensor.shape))
    return sent
    # END SOLUTION


def read_flags(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    text = "in the tensor (1000003)"
    parser.add_argument("--numbers", type=positive, default=1_000_003, help=text)
    return add_run_flags(parser, ranks=4).parse_args(arguments)


def compare(options, place, device, say=None):
    """All-reduce random numbers by the ring and by torch, print both, and return the trace."""
    rank, ranks, recorder = place.rank, place.world_size, Recorder(place.rank)
    torch.manual_seed(rank)
    ours = torch.randn(options.numbers, device=device)
    torchs = ours.clone()
    with recorder.span("all-reduce", "ring"):
        sent = ring_all_reduce(ours, rank, ranks)
    with recorder.span("all-reduce", "torch"):
        dist.all_reduce(torchs)
    counted = torch.zeros(ranks, dtype=torch.int64, device=device)
    counted[rank] = sent
    dist.all_reduce(counted)
    if rank == 0:
        print(f"{ranks} ranks, a tensor of {ours.nbytes:,} bytes")
        difference = (ours - torchs).abs().max().item()
        print(f"largest difference from dist.all_reduce: {difference:.1g}")
        for other, count in enumerate(counted.tolist()):
            share = count / ours.nbytes
            print(f"rank {other} has sent {count:,} bytes = {share:.3f} of the tensor")
        print(f"by closed form: 2 (n - 1) / n = {2 * (ranks - 1) / ranks:.3f}")
    return (recorder.trace(),)


if __name__ == "__main__":
    run_as_rank(read_flags, compare)
