"""Context parallelism: a ring beside gathered keys and values, forward and backward."""

import sys
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

from bench.race import Race, in_the_same_ranks, timed_in_turn
from helpers.trace import Recorder

LAB = Path(__file__).resolve().parents[1] / "CP"
RANKS, HEADS, WIDTH, STEPS = 2, 4, 32, 5


def races() -> list[Race]:
    """One layer's attention of three lengths, in a zigzag."""
    what = f"attention of {{:,}} tokens, {RANKS} ranks".format
    return [
        in_the_same_ranks(what(length), "ring", "gathered", timed, RANKS, (length,))
        for length in (512, 1024, 2048)
    ]


def timed(length: int) -> list[float]:
    """On a rank, of each: the median of the seconds of one forward and backward."""
    sys.path[:0] = [str(LAB / "ring"), str(LAB / "ulysses")]
    from heads import gathered_attention
    from ring_attention import Ring, ring_attention
    from zigzag import zigzag

    rank, ranks = dist.get_rank(), dist.get_world_size()
    positions = [zigzag(length, ranks, r) for r in range(ranks)]
    ring = Ring(recorder=Recorder(rank, enabled=False))
    ways = ring_attention(ring, positions), gathered_attention(None, positions)
    shape = 1, HEADS, length // ranks, WIDTH
    parts = [torch.randn(shape, requires_grad=True) for _ in range(3)]

    def step(mix) -> None:
        mix(*parts).sum().backward()

    return timed_in_turn([partial(step, mix) for mix in ways], STEPS)
