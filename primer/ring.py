"""All-reduce as a ring, built from messages between neighbors.

    python -m helpers.ranks -n 4 ring.py                   a million numbers
    python -m helpers.ranks -n 4 ring.py --numbers 10      few numbers

Compares with dist.all_reduce, and prints how much each rank has sent.
"""

import argparse

import torch
import torch.distributed as dist

from helpers.plain_errors import plain_errors
from helpers.ranks import connect, disconnect, find_place


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


def sizes_sent(world_size):
    """Return what three ways to all-reduce send, in sizes of the tensor.

    Returns {way: (what the busiest rank sends, what all ranks send together)}. star: all send to
    rank 0, which sends the sum to all. everyone: all send to all.
    """
    n = world_size
    return {
        "star": (n - 1, 2 * (n - 1)),
        "everyone": (n - 1, n * (n - 1)),
        "ring": (2 * (n - 1) / n, 2 * (n - 1)),
    }


def read_flags(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--numbers", type=int, default=1_000_003, help="in the tensor (1000003)")
    parser.add_argument("--backend", default="auto", help="auto, gloo or nccl (auto)")
    options = parser.parse_args(arguments)
    if options.numbers < 1:
        parser.error(f"--numbers is {options.numbers}: a tensor to add up has 1 number or more")
    return options


def main():
    options = read_flags()
    place = find_place()
    device = connect(place, options.backend)
    rank, ranks = place.rank, place.world_size

    torch.manual_seed(rank)
    ours = torch.randn(options.numbers, device=device)
    torchs = ours.clone()
    sent = ring_all_reduce(ours, rank, ranks)
    dist.all_reduce(torchs)
    difference = (ours - torchs).abs().max().item()
    counted = torch.zeros(ranks, dtype=torch.int64, device=device)
    counted[rank] = sent
    dist.all_reduce(counted)

    if rank == 0:
        size = ours.nbytes
        print(f"{ranks} ranks, a tensor of {size:,} bytes")
        print(f"largest difference from dist.all_reduce: {difference:.1g}")
        for other, count in enumerate(counted.tolist()):
            print(f"rank {other} has sent {count:,} bytes = {count / size:.3f} of the tensor")
        print("by closed form:      busiest rank   all ranks   (in sizes of the tensor)")
        for way, (busiest, together) in sizes_sent(ranks).items():
            print(f"  {way:16} {busiest:14.3f} {together:11.3f}")
    disconnect()


if __name__ == "__main__":
    with plain_errors():
        main()
