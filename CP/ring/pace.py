"""Ring attention in which ranks sleep in place of computing: predicted, and measured.

Four ranks can't compute at once on two cores, but they can sleep at once. A block takes as long as
it has pairs of a query and a key that it may see, which is what a fused kernel would take.
"""

import time

import ring_attention
import torch
import torch.distributed as dist

from helpers.parallel.context import visible
from helpers.trace import Event, Recorder, Trace

TOKENS = 64  # of a rank


def share(positions, rank, source):
    """Return which part of all pairs in a block may be seen, 0 to 1."""
    return visible(positions[rank], positions[source]).double().mean().item()


def predicted(cut, ranks, seconds):
    """Return the trace of one forward pass in a ring. seconds: of a whole block.

    A rank has the next keys when it has computed, and when both of its neighbors have begun the
    step: one sends to it, and one receives from it.
    """
    positions = [cut(TOKENS * ranks, ranks, rank) for rank in range(ranks)]
    start, events = [0.0] * ranks, []
    for step in range(ranks):
        sources = [(rank - step) % ranks for rank in range(ranks)]
        ends = [
            start[r] + seconds * share(positions, r, source) for r, source in enumerate(sources)
        ]
        events += [Event(r, "F", start[r], ends[r]) for r in range(ranks) if ends[r] > start[r]]
        if step == ranks - 1:
            break
        ready = [max(ends[r], start[r - 1], start[(r + 1) % ranks]) for r in range(ranks)]
        events += [
            Event(r, "wait", ends[r], ready[r], name="message")
            for r in range(ranks)
            if ready[r] > ends[r]
        ]
        start = ready
    return Trace(sorted(events, key=lambda event: event.start))


def measured(cut, seconds):
    """On a rank: run `ring_forward` with blocks that sleep, and return the trace."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    recorder = Recorder(rank)
    ring = ring_attention.Ring(recorder=recorder)
    positions = [cut(TOKENS * ranks, ranks, r) for r in range(ranks)]

    def block(q, k, v, mask):
        if mask.any():
            with recorder.span("F"):
                time.sleep(seconds * mask.double().mean().item())
        nothing = torch.zeros(1, 1, TOKENS, 1)
        return ring_attention.Partial(nothing, nothing, nothing + 1)

    ring_attention.block = block
    q = torch.zeros(1, 1, TOKENS, 1)
    masks = [visible(positions[rank], positions[source]) for source in range(ranks)]
    dist.barrier()
    ring_attention.ring_forward(q, q, q, lambda source: masks[source], ring)
    return recorder.trace()
