"""Tokens on their way to experts and back: what a device sends, and how long that takes.

A plain all-to-all sends a token once for each expert it chose. Newer kernels (DeepEP) send it once
to each node that has some of them, and pass it on over the network inside that node.
"""

from math import comb

from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cost import ModelConfig
from helpers.cost.config import MoE

# Of the network cards, with kernels that send a token once to a node: 58 and 51 GB/s on 32 and 64
# H800 with cards of 50 GB/s, where a quarter and an eighth of that stays on the node (DeepEP,
# docs/legacy.md at 0297fc8). No run has set it.
DEDUP_SHARE = 0.88


def nodes_reached(moe: MoE, nodes: int) -> float:
    """Return how many of `nodes` nodes have experts of one token, on average.

    The experts are spread evenly, and a token's choice is any k of them, as likely as any other;
    with node-limited routing (arXiv 2412.19437, section 2.1.2) any k of those on `moe.nodes` nodes.
    A node has none of them in C(E - E/n, k) of C(E, k) cases.
    """
    tried = min(nodes, moe.nodes or nodes)
    here = moe.experts // nodes
    among = here * tried
    return tried * (1 - comb(among - here, moe.chosen) / comb(among, moe.chosen))


def experts_messages(
    model: ModelConfig, layout: Layout, machine: Machine
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the bytes of one way through a layer: the dispatch, and the results that come back.

    Each as (bytes that stay inside the node, bytes that leave it), of one device. A device sends
    each of its own tokens to k experts. Plain: k (n-1)/R of R ranks are others of the n on its
    node, k (R-n)/R are elsewhere. Once to a node: `nodes_reached`, of which (N-1)/N are others of N
    nodes, and what arrives is passed on, k (n-1)/n times a token, whatever node it comes from.
    """
    moe, ranks = model.moe, layout.ep
    near = layout.on_a_node("ep", machine.node)
    nodes = ranks // near
    tokens = layout.tokens / (layout.tp if layout.sequence_parallel else 1)
    if layout.dedup and nodes > 1:
        away = nodes_reached(moe, nodes) * (nodes - 1) / nodes
    else:
        away = moe.chosen * (ranks - near) / ranks
    inside = moe.chosen * (near - 1) / near if layout.dedup else moe.chosen * (near - 1) / ranks
    one = tokens * model.hidden
    return tuple((size * one * inside, size * one * away) for size in (layout.dispatch_bytes, 2))


def experts_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """Return the seconds of one way through a layer, to the experts and back; backward is alike.

    The networks inside a node and between nodes work side by side.
    """
    if model.moe is None or layout.ep == 1:
        return 0.0
    share = DEDUP_SHARE if layout.dedup else machine.between.share
    ways = experts_messages(model, layout, machine)
    return sum(one_way_seconds(machine, stays, leaves, share) for stays, leaves in ways)


def one_way_seconds(
    machine: Machine, stays: float, leaves: float, share: float = DEDUP_SHARE
) -> float:
    """Return the seconds of a dispatch, or of its results.

    stays, leaves: bytes of one device inside the node, and between nodes. share: of the cards'
    bandwidth; by default that of a dispatch that sends a token once to a node.
    """
    inside, between = machine.inside, machine.between
    near = stays / inside.speed + inside.latency
    if not leaves:
        return near
    return max(near, leaves / (between.bandwidth * share) + between.latency)
