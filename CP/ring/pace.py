"""Ring attention in which ranks sleep in place of computing: predicted, and measured.

Four ranks can't compute at once on two cores, but they can sleep at once. A block takes as long as
it has pairs of a query and a key that it may see, which is what a fused kernel would take. The same
for ranks that gather all keys and values first.
"""

import time
from contextlib import nullcontext

import ring_attention
import torch
import torch.distributed as dist

from helpers.network import slow_link
from helpers.parallel.context import visible
from helpers.trace import Event, Recorder, Trace

TOKENS = 64  # of a rank


def blocks(cut, ranks, seconds, documents):
    """Return what each rank takes for each rank's keys; seconds: of a block that is all seen."""
    positions = [cut(TOKENS * ranks, ranks, rank) for rank in range(ranks)]
    masks = [[visible(mine, theirs, documents) for theirs in positions] for mine in positions]
    return [[seconds * mask.double().mean().item() for mask in row] for row in masks]


def predicted(cut, ranks, seconds, documents=None, message=0.0):
    """Return the trace of one forward pass in a ring. seconds: of a whole block, and of a message.

    A rank has the next keys when it has computed, and when the messages of both of its neighbors
    are through: one sends to it, and one receives from it. A message starts when both are there.
    """
    work, start, events = blocks(cut, ranks, seconds, documents), [0.0] * ranks, []
    for step in range(ranks):
        ends = [start[r] + work[r][r - step] for r in range(ranks)]
        there = [message + max(start[r - 1], start[r], start[r + 1 - ranks]) for r in range(ranks)]
        ready = list(map(max, ends, there)) if step < ranks - 1 else ends
        for r in range(ranks):
            events += [Event(r, "F", start[r], ends[r])] * (ends[r] > start[r])
            events += [Event(r, "wait", ends[r], ready[r], name="message")] * (ready[r] > ends[r])
        start = ready
    return Trace(sorted(events, key=lambda event: event.start))


def predicted_gather(cut, ranks, seconds, documents=None, message=0.0):
    """Return the trace of the same forward pass if all keys and values are gathered first."""
    events, begun = [], (ranks - 1) * message
    for r, work in enumerate(blocks(cut, ranks, seconds, documents)):
        events += [Event(r, "all-gather", 0.0, begun), Event(r, "F", begun, begun + sum(work))]
    return Trace(events)


def keys_of(link, message):
    """Return keys or values of a rank, so long that both together take a message's seconds."""
    width = 1 if link is None else max(1, round(message / link.beta / 2 / 4 / TOKENS))
    return torch.zeros(1, 1, TOKENS, width)


def measured(cut, seconds, documents=None, link=None, message=0.0):
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
    q, k = torch.zeros(1, 1, TOKENS, 1), keys_of(link, message)
    masks = [visible(positions[rank], positions[source], documents) for source in range(ranks)]
    dist.barrier()
    with slow_link(link) if link else nullcontext():
        ring_attention.ring_forward(q, k, k, lambda source: masks[source], ring)
    return recorder.trace()


def measured_gather(cut, seconds, documents, link, message):
    """On a rank: gather what `ring_forward` would pass on, and sleep for all blocks together."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    recorder, positions = Recorder(rank), [cut(TOKENS * ranks, ranks, r) for r in range(ranks)]
    mask, k = visible(positions[rank], torch.cat(positions), documents), keys_of(link, message)
    dist.barrier()
    with slow_link(link):
        with recorder.span("all-gather"):
            for t in (k, k):
                dist.all_gather([torch.empty_like(t) for _ in range(ranks)], t)
        with recorder.span("F"):
            time.sleep(seconds * ranks * mask.double().mean().item())
    return recorder.trace()
