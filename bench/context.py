"""Context parallelism: a ring beside gathered keys and values, forward and backward."""

import statistics
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

from bench.race import Race
from helpers.hang.monitor import the_monitor
from helpers.ranks import launch
from helpers.trace import Recorder

LAB = Path(__file__).resolve().parents[1] / "CP"
RANKS, HEADS, WIDTH, STEPS = 2, 4, 32, 5


def races() -> list[Race]:
    """One layer's attention of three lengths, in a zigzag."""
    return [_race(length) for length in (512, 1024, 2048)]


def _race(length: int) -> Race:
    last: list[float] = []

    def ours() -> float:
        times = launch(timed, RANKS, (length,), quiet=True, checked=False)
        last[:] = [1e3 * max(both) for both in zip(*times, strict=True)]
        return last[0]

    what = f"attention of {length:,} tokens, {RANKS} ranks"
    note = "The ring computes block by block in Python; gathered keys use torch's fused attention."
    return Race(what, "ring", "gathered", ours, lambda: last[1], "ms", note=note)


def timed(length: int) -> list[float]:
    """On a rank, of each: the median of the seconds of one forward and backward, in turn."""
    sys.path[:0] = [str(LAB / "ring"), str(LAB / "ulysses")]
    from heads import gathered_attention
    from ring_attention import Ring, ring_attention
    from zigzag import zigzag

    the_monitor().rest()  # as under torchrun: what explains hangs writes every message down
    torch.set_num_threads(1)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    positions = [zigzag(length, ranks, r) for r in range(ranks)]
    ring = Ring(recorder=Recorder(rank, enabled=False))
    ways = ring_attention(ring, positions), gathered_attention(None, positions)
    shape = 1, HEADS, length // ranks, WIDTH
    parts = [torch.randn(shape, requires_grad=True) for _ in range(3)]
    times: list[list[float]] = [[], []]
    for number in range(STEPS + 1):
        for mix, mine in zip(ways, times, strict=True):
            dist.barrier()
            begun = time.perf_counter()
            mix(*parts).sum().backward()
            if number:  # the first one warms up
                mine.append(time.perf_counter() - begun)
    return [statistics.median(mine) for mine in times]
