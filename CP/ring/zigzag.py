"""Which positions of a sequence each rank holds."""

import torch

from helpers.parallel.context import equal_chunks


def contiguous(length, ranks, rank):
    """Return the positions of one of `ranks` equal chunks, in order."""
    return equal_chunks(length, ranks)[rank]


def zigzag(length, ranks, rank):
    """Return the positions of two chunks: rank 0 has the first one and the last one.

    `equal_chunks(length, n)` cuts the positions 0 to length - 1 into n chunks, and raises an error
    if they would not be equal. Rank r holds chunk r and its mirror image, the earlier one first.
    """
    # BEGIN SOLUTION CP-3
    chunks = equal_chunks(length, 2 * ranks)
    return torch.cat((chunks[rank], chunks[2 * ranks - 1 - rank]))
    # END SOLUTION


LAYOUTS = {"contiguous": contiguous, "zigzag": zigzag}
