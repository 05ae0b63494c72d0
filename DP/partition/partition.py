"""Partition a data set: which rank reads which items. Nothing is lost, nothing is read twice.

    python partition.py          10 items, 4 ranks
    python partition.py 3 5      some ranks have nothing to read

Prints what each rank reads in the first two epochs.
"""

import argparse
import itertools
import random

from helpers.plain_errors import plain_errors


def partition(length, rank, world_size):
    """Return the indices of the items that `rank` reads, as a range.

    The parts of all ranks together are the indices 0 to length - 1, and no two share one. Their
    sizes differ by at most one, so no rank has much more to do than another. With fewer items than
    ranks, some parts are empty.
    Raises ValueError for a length below 0, and for a rank that world_size does not have.
    """
    check_place(length, rank, world_size)
    # BEGIN SOLUTION DP-3
    return range(length * rank // world_size, length * (rank + 1) // world_size)
    # END SOLUTION


def epoch_order(length, rank, world_size, seed, epoch):
    """Return the indices of the items that `rank` reads in this epoch: a list, in that order.

    An epoch is one pass over the whole data set. Its items are shuffled, and then partitioned.
    The shuffle depends on `seed` and `epoch` alone: so it is the same on every rank, another one
    in each epoch, and the same again when the training is repeated.
    Raises ValueError, as `partition` does.
    """
    check_place(length, rank, world_size)
    # BEGIN SOLUTION DP-3
    order = list(range(length))
    random.Random(f"seed {seed}, epoch {epoch}").shuffle(order)
    return [order[place] for place in partition(length, rank, world_size)]
    # END SOLUTION


def check_place(length, rank, world_size):
    """Raise ValueError, with one sentence, where there is no such part."""
    if length < 0:
        raise ValueError(f"length is {length}, and a data set cannot have fewer than 0 items")
    if world_size < 1:
        raise ValueError(f"world_size is {world_size}, and there must be 1 rank or more")
    if not 0 <= rank < world_size:
        raise ValueError(
            f"rank is {rank} and world_size is {world_size}: ranks go from 0 to {world_size - 1}"
        )


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("length", type=int, nargs="?", default=10, help="items (10)")
    parser.add_argument("ranks", type=int, nargs="?", default=4, help="ranks (4)")
    flags = parser.parse_args()
    length, ranks = flags.length, flags.ranks
    with plain_errors():
        check_place(length, 0, ranks)
        for epoch, rank in itertools.product(range(2), range(ranks)):
            order = epoch_order(length, rank, ranks, seed=0, epoch=epoch)
            print(f"epoch {epoch}, rank {rank}:", *order)
