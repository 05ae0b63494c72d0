"""The messages of FSDP without its weights, for ranks that sleep where a device would compute."""

from functools import partial

import torch
import torch.distributed as dist


def of_unit(weights, ranks):
    """Return what starts a gather, and a reduce-scatter, of as many bytes as these weights of 2.

    Each is what `Rank.send` takes: a function that returns works, and what is being received.
    """
    whole, part = torch.zeros(weights // 2), torch.zeros(weights // 2 // ranks)
    gather = partial(dist.all_gather_into_tensor, whole, part, async_op=True)
    scatter = partial(dist.reduce_scatter_tensor, part, whole, async_op=True)
    return [lambda start=start: ([start()], None) for start in (gather, scatter)]


def swap(size):
    """Return what starts an exchange with the other one of two ranks: `size` bytes each way."""
    whole = [torch.zeros(2 * size // 4) for _ in range(2)]  # half of it is for the rank itself
    return lambda: ([dist.all_to_all_single(*whole, async_op=True)], None)
