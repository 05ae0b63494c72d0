"""The input of a language model: documents in one stream, and which window is read when and where.

A window is `length` tokens of the stream, cut back to back. Everything here is a pure function of
the seed and of counts, so that nothing has to be remembered to go on but the step.
"""

import numpy as np
import torch


def places_of(step, rank, ranks, batch, count, seed=0):
    """Return the windows that a rank reads in a step: places 0 to `count` - 1.

    The batch of a step is the same for any number of ranks that divides it. An epoch reads each
    window once, in an order of its own; a batch may begin in one epoch and end in the next.
    """
    read = np.arange(step * batch + rank, (step + 1) * batch, ranks)  # numbered through all epochs
    orders = {epoch: order_of(epoch, count, seed) for epoch in {*(read // count).tolist()}}
    return [int(orders[n // count][n % count]) for n in read.tolist()]


def order_of(epoch, count, seed=0):
    """Return the order in which an epoch reads its windows."""
    return np.random.default_rng((seed, epoch)).permutation(count)


def documents_of(ids, end):
    """Return for each token of a window (S,) the number of its document; `end` ends one."""
    ends = ids == end
    return ends.cumsum(0) - ends.long()


def document_mask(documents):
    """Return (S, S), True where a token may look: back, and not beyond its document's start."""
    same = documents[:, None] == documents[None, :]
    return same & torch.ones_like(same).tril()
