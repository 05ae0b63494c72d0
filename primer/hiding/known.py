"""What hid its messages before this lesson, and what a message costs that hides."""

import time
from contextlib import nullcontext
from functools import partial

import async_tp
import torch
import torch.distributed as dist

from helpers.network import slow_link


def buckets(rank, seconds, layers=4, late=False):
    """Backward through equal layers. Their gradients leave at once, or late: after all of them."""
    gradients, leaving = [torch.zeros(6000) for _ in range(layers)], []
    size = 2 * gradients[0].nbytes * (rank.size - 1) / rank.size  # of a ring, lesson 03

    def leave(g):
        leaving.append(rank.send(size, partial(added_up, g), kind="all-reduce"))

    for g in gradients:
        rank.compute(seconds, torch.zeros_like, g, kind="B")
        if not late:
            leave(g)
    for g in gradients if late else ():
        leave(g)
    for arrived in leaving:
        arrived()


def added_up(g):
    """Start to add up a layer's gradients over the ranks."""
    return [dist.all_reduce(g, async_op=True)], None


def ring_attention(rank, seconds):
    """Attention to as many blocks of keys and values as ranks; one of them is this rank's own."""
    keys, ring = torch.zeros(64, 60), async_tp.Ring(rank, seconds)
    for block in range(rank.size):
        arrived = ring.pass_on(keys) if block < rank.size - 1 else None
        ring.product(torch.zeros(1, 64), keys)  # stands for the attention to this block
        keys = arrived() if arrived else keys


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
