"""Schedules with several stages a rank: rank r of p holds stages r, r+p, r+2p ...

The stages of a rank are called its chunks. A smaller chunk fills the pipeline sooner: the bubble
is divided by the number of chunks, and there are as many times more messages.
"""

from helpers.schedules.action import Action
from helpers.schedules.builders import checked, checked_sizes
from helpers.schedules.schedule import Schedule


def interleaved(ranks: int, micro_batches: int, chunks: int = 2) -> Schedule:
    """1F1B over chunks (Narayanan et al., arXiv 2104.04473, section 2.2.2).

    Micro-batches go in rounds of p: a round passes chunk 0, then chunk 1 ...; the next follows.
    Where p does not divide m, the rounds are made equal, or one longer: p at least, if m is.
    Bubble, where p divides m: (p-1)/(v*m+p-1) of the time, for v chunks.
    """
    p, m, v = *checked_sizes(ranks, micro_batches), checked(chunks, "chunks")
    rounds = _rounds(m, max(1, m // p))
    forward = [(c, i) for one in rounds for c in range(v) for i in one]
    backward = [(c, i) for one in rounds for c in reversed(range(v)) for i in one]
    longest = max(map(len, rounds))
    orders = []
    for r in range(p):
        ahead = min(2 * (p - 1 - r) + (v - 1) * longest, v * m)
        fs = [Action("F", c * p + r, i) for c, i in forward]
        bs = [Action("B", c * p + r, i) for c, i in backward]
        actions = fs[:ahead]
        for f, b in zip(fs[ahead:], bs, strict=False):
            actions += [f, b]
        orders.append(actions + bs[v * m - ahead :])
    return Schedule(f"interleaved 1F1B, {v} chunks", orders, _looped(p, v), m)


def breadth_first(ranks: int, micro_batches: int, chunks: int = 2) -> Schedule:
    """All micro-batches through a chunk before the next chunk begins: GPipe over chunks.

    Lamy-Poirier, "Breadth-first pipeline parallelism", arXiv 2211.05953. Bubble as `interleaved`;
    each rank keeps m*v activations, and its gradients of a chunk are complete at once.
    """
    p, m, v = *checked_sizes(ranks, micro_batches), checked(chunks, "chunks")
    orders = []
    for r in range(p):
        mine = range(r, p * v, p)
        actions = [Action("F", s, i) for s in mine for i in range(m)]
        orders.append(actions + [Action("B", s, i) for s in reversed(mine) for i in range(m)])
    return Schedule(f"breadth-first, {v} chunks", orders, _looped(p, v), m)


def _looped(p: int, v: int) -> list[int]:
    return [stage % p for stage in range(p * v)]


def _rounds(m: int, count: int) -> list[range]:
    """0 .. m-1 in `count` runs whose lengths differ by one at most."""
    edges = [m * k // count for k in range(count + 1)]
    return [range(a, b) for a, b in zip(edges, edges[1:], strict=False)]
