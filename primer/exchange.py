"""Neighbors exchange tensors: a deadlock, and three ways out of it.

    python -m helpers.ranks -n 3 exchange.py                     the three ways
    python -m helpers.ranks -n 3 exchange.py --way deadlock      ends in words: who waits for whom

The ranks stand in a ring. Each hands its tensor to its right neighbor and receives that of its
left one. Prints what each rank received.
"""

import argparse

import torch
import torch.distributed as dist

from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder


def neighbors(rank, world_size):  # the one on the left, and the one on the right
    return (rank - 1) % world_size, (rank + 1) % world_size


def exchange_deadlock(mine, rank, world_size):
    """Show how it doesn't work: every rank sends first, so no rank is left to receive.

    dist.send returns once its receiver has begun to receive, and no rank gets to the next line.
    """
    left, right = neighbors(rank, world_size)
    theirs = torch.empty_like(mine)
    dist.send(mine, right)
    dist.recv(theirs, left)
    return theirs


def exchange_in_order(mine, rank, world_size):
    """Give `mine` to the right neighbor; return the tensor of the left one, as a new tensor.

    mine: a tensor without gaps in memory (contiguous), of the same shape and type on all ranks.
    It stays as it is. world_size: 2 or more, even or odd.

    Uses dist.send and dist.recv only. The even ranks send first, the odd ranks receive first.
    """
    left, right = neighbors(rank, world_size)
    # BEGIN SOLUTION RC-2
    theirs = torch.empty_like(mine)
    if rank % 2 == 0:
        dist.send(mine, right)
        dist.recv(theirs, left)
    else:  # with an odd number of ranks, two even ones are neighbors: the next odd one frees them
        dist.recv(theirs, left)
        dist.send(mine, right)
    return theirs
    # END SOLUTION


def exchange_without_waiting(mine, rank, world_size):
    """Give `mine` to the right neighbor; return the tensor of the left one: as above.

    Uses dist.isend, which starts to send and returns at once. Its result has a method wait();
    until that has returned, the message may still be in transit and `mine` must not change.
    """
    left, right = neighbors(rank, world_size)
    # BEGIN SOLUTION RC-2
    theirs = torch.empty_like(mine)
    message = dist.isend(mine, right)
    dist.recv(theirs, left)
    message.wait()
    return theirs
    # END SOLUTION


def exchange_in_a_batch(mine, rank, world_size):
    """Give `mine` to the right neighbor; return the tensor of the left one: as above.

    Uses dist.batch_isend_irecv, which starts a list of dist.P2POp(dist.isend or dist.irecv,
    tensor, other rank) together. On GPUs, this is the way that NCCL is safe with.
    """
    left, right = neighbors(rank, world_size)
    # BEGIN SOLUTION RC-2
    theirs = torch.empty_like(mine)
    both = [dist.P2POp(dist.isend, mine, right), dist.P2POp(dist.irecv, theirs, left)]
    for message in dist.batch_isend_irecv(both):
        message.wait()
    return theirs
    # END SOLUTION


WAYS = {
    "order": exchange_in_order,
    "no-wait": exchange_without_waiting,
    "batch": exchange_in_a_batch,
    "deadlock": exchange_deadlock,
}


def read_flags(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--way", choices=WAYS, help="only this one (all but the deadlock)")
    return add_run_flags(parser, ranks=3).parse_args(arguments)


def show(options, place, device, say=None):
    """Exchange this rank's number by each way, print what came, and return the trace."""
    mine, recorder = torch.full((4,), float(place.rank), device=device), Recorder(place.rank)
    for way in [options.way] if options.way else list(WAYS)[:3]:
        with recorder.span("send", way):
            theirs = WAYS[way](mine, place.rank, place.world_size)
        print(f"{way}: rank {place.rank} got {theirs.tolist()}", flush=True)
    return (recorder.trace(),)


if __name__ == "__main__":
    run_as_rank(read_flags, show)
