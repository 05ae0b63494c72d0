"""Real products beside a real all-reduce: how much of the message hides."""

import time
from contextlib import nullcontext
from functools import partial

import torch
import torch.distributed as dist

from helpers.network import slow_link


def beside(megabytes, link=None, tries=5):
    """On a rank: seconds of real products, of an all-reduce, and of both at once; the shortest."""
    x, square = torch.zeros(megabytes * 250_000), torch.ones(512, 512)

    def products():
        for _ in range(20):
            torch.mm(square, square)

    def both():
        work = dist.all_reduce(x, async_op=True)
        products()
        work.wait()

    spent = [[], [], []]
    with slow_link(link) if link else nullcontext():
        works = products, partial(dist.all_reduce, x), both
        for _ in range(tries):
            for seconds, work in zip(spent, works, strict=True):  # in turn: the machine varies
                dist.barrier()
                begun = time.perf_counter()
                work()
                seconds.append(time.perf_counter() - begun)
    return [min(seconds) for seconds in spent]
