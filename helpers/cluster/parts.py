"""What a rank of a layout holds, keeps and sends outside of its layers."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine, all_gather_seconds, message_seconds
from helpers.cost import ModelConfig, layer_activations, parameters, states

STATES = "weights", "gradients", "optimizer"
UPDATE = 56  # bytes that Adam moves for a parameter: unscale, norm, clip, update, copy to 16 bits


class Share(NamedTuple):
    """What one rank holds: layers, the weights of routed experts, and all others."""

    layers: float
    experts: float
    others: float

    @property
    def weights(self) -> float:
        return self.experts + self.others

    def __mul__(self, times: float) -> "Share":
        return Share(*(each * times for each in self))


def layer_share(model: ModelConfig, layout: Layout) -> Share:
    count = parameters(model)
    outside = count.embedding + count.positions + count.final_norm + count.head
    routed = count.expert * model.moe.experts * model.expert_layers if model.moe else 0
    others = (count.total - outside - routed) / model.layers / layout.tp
    return Share(1, routed / model.layers / (layout.ep * layout.per_expert), others)


def rank_shares(model: ModelConfig, layout: Layout) -> list[Share]:
    """Return what each rank of a pipeline holds; in a DualPipe also what rank pp-1-r does."""
    count, one = parameters(model), layer_share(model, layout)
    ranks = [one * n for n in layout.rank_layers(model.layers)]
    # Tied or not, the last matrix has this size; on one rank with the embedding it is the same.
    head = count.embedding if layout.pp > 1 or count.head else 0
    for rank, ends in ((0, count.embedding + count.positions), (-1, head + count.final_norm)):
        ranks[rank] = ranks[rank]._replace(others=ranks[rank].others + ends / layout.tp)
    if layout.dualpipe:
        both = zip(ranks, reversed(ranks), strict=True)
        ranks = [Share(*map(sum, zip(*pair, strict=True))) for pair in both]
    return ranks


# --- memory --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Memory:
    """Bytes on the device that keeps most. What the framework itself takes, and what the allocator
    leaves unused, is not counted: a few GB on a GPU."""

    weights: float
    gradients: float
    optimizer: float
    activations: float  # what the backward pass waits for
    # For a moment: one layer's activations while it is computed again, logits, gathered weights,
    # gradients on their way.
    working: float

    @property
    def total(self) -> float:
        return sum(vars(self).values())


def memory(model: ModelConfig, layout: Layout) -> Memory:
    """Of the rank of the pipeline that keeps most: where all stages have as many layers, the first,
    which has most micro-batches on their way, or the last, which has the logits."""
    even = model.layers % (layout.pp * layout.chunks) == 0
    kept, one = layer_activations(model, *layout.kept), layer_share(model, layout).weights
    again = 0.0
    if layout.recompute in ("op", "full"):  # one layer at a time is whole again
        again = layer_activations(model, *replace(layout, recompute="none").kept)
    if layout.zero == 3:  # the layer at work and the next one
        again += 4 * one
    if layout.cp > 1 and layout.context == "gather":  # the keys and values of all, for one layer
        again += 4 * layout.micro_batch * layout.sequence * model.kv_width / layout.tp
    precision = "mixed, fp32 gradients" if layout.fp32_gradients else "mixed"
    if layout.zero == 3 and layout.fp32_gradients:
        precision = "fp32"  # FSDP keeps the optimizer's weights only, and casts what it gathers
    ranks, found = rank_shares(model, layout), []
    for rank in {0, layout.pp - 1} if even else range(layout.pp):
        share, working = ranks[rank], again
        others = states(share.others, precision, layout.zero, layout.sharding[0])
        experts = states(share.experts, precision, layout.zero, layout.sharding[1])
        if layout.zero == 3:  # what is in no layer stays whole
            working += 2 * max(0.0, share.weights - share.layers * one)
        if layout.zero > 1:  # a gradient is whole until it is reduced
            whole = share.weights / layout.chunks if layout.chunks > 1 else one
            working += layout.gradient_bytes * whole
        if rank == layout.pp - 1:  # logits in 16 bits, and in 32 for the loss
            working = max(working, 6 * layout.tokens * model.vocabulary / layout.tp)
        both = (getattr(others, name) + getattr(experts, name) for name in STATES)
        found.append(Memory(*both, kept * layers_in_flight(model, layout, rank), working))
    return max(found, key=lambda each: each.total)


def layers_in_flight(model: ModelConfig, layout: Layout, rank: int) -> float:
    """How many layers' activations a rank of 1F1B keeps at most, each of one micro-batch.

    Plain: those of p - r micro-batches. Interleaved: of 2(p-1-r) + (v-1)p + 1 chunks (arXiv
    2104.04473, section 2.2), where p divides the micro-batches; else the longest round takes the
    place of the second p. In a DualPipe a rank keeps those of 1F1B for both of its stages, p+1 in
    all (arXiv 2412.19437, table 2).
    """
    counts, p, v = layout.rank_layers(model.layers), layout.pp, layout.chunks
    if layout.dualpipe:
        return (p - rank) * counts[rank] + (rank + 1) * counts[-1 - rank]
    ahead = p - rank if v == 1 else 2 * (p - 1 - rank) + (v - 1) * layout.longest_round + 1
    return min(ahead, v * layout.micro_batches) * counts[rank] / v


# --- time ----------------------------------------------------------------------------------------


def update_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """Return the seconds of the optimizer, on the rank with most weights. ZeRO cuts the state of an
    expert among its own replicas, of which there are fewer."""
    share = max(rank_shares(model, layout), key=lambda each: each.weights)
    ranks, copies = layout.sharding if layout.zero else (1, 1)
    return machine.memory_seconds(UPDATE * (share.others / ranks + share.experts / copies))


def pipeline_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """Return the seconds of a message from stage to stage, which a DualPipe hides: each
    tensor-parallel rank sends its share, then all gather them, unless they work on shares too."""
    if layout.pp == 1 or layout.dualpipe:
        return 0.0
    size = 2 * layout.tokens * model.hidden
    sent = message_seconds(machine, size / layout.tp, layout.on_a_node("pp", machine.node) > 1)
    near, ranks = layout.on_a_node("tp", machine.node), layout.tp
    return sent + all_gather_seconds(machine, size, 1 if layout.sequence_parallel else ranks, near)


def gather_seconds(layout: Layout, machine: Machine, share: Share, size: float) -> float:
    """Return the seconds until the ranks that share a state have all of these weights, of `size`
    bytes each; a reduce-scatter takes the same."""
    ranks, copies = layout.sharding
    near = min(layout.on_a_node("dp", machine.node), ranks)
    seconds = all_gather_seconds(machine, size * share.others, ranks, near)
    if not share.experts:
        return seconds
    # Neighbors share the experts, so the replicas of one are far apart; cp comes before them.
    far = min(layout.on_a_node("expert_copies", machine.node), copies)
    return seconds + all_gather_seconds(machine, size * share.experts, copies, far)


def replicas_seconds(layout: Layout, machine: Machine, share: Share, backward: float) -> float:
    """Return what DDP and ZeRO 0 to 2 add to a step: a reduce-scatter, then an all-gather of the
    sums, or with ZeRO of the new weights. backward: seconds of one micro-batch, all chunks.

    Both can run beside the last backward passes (`overlap_dp`): those of a chunk beside the chunk
    that comes next, those of the last chunk, layer by layer, beside its last micro-batch, whose
    last layer has nothing left to hide behind. ZeRO 2 has no room for whole gradients; what it
    reduces after each micro-batch is taken to be hidden.
    """
    sizes = layout.gradient_bytes + (2 if layout.zero else layout.gradient_bytes)
    seconds = gather_seconds(layout, machine, share, sizes)
    if not layout.overlap_dp:
        return seconds
    return max((seconds - backward) / layout.chunks, seconds / max(layout.chunks, share.layers))


def fsdp_seconds(
    layout: Layout, machine: Machine, share: Share, forward: float, backward: float
) -> float:
    """Return what ZeRO 3 adds to a step, as FSDP2's `fully_shard` runs it on each layer.

    forward, backward: seconds f, b of one layer and one micro-batch. The gather of the next layer
    (g) and the reduction of the one before (r) run beside each layer, on one network. So only the
    first gather and the last reduction show, and where the network is slower than the device, what
    it takes longer: g + r + (l-1) (max(0, g-f) + max(0, g+r-b)), in each micro-batch. In a pipeline
    FSDP keeps the weights for the whole step instead: that is `Layout(zero=2)`, or `zero=1` where
    gradients stay whole too.
    """
    n = max(1, share.layers)
    sizes = 2, layout.gradient_bytes
    g, r = (gather_seconds(layout, machine, share * (1 / n), size) for size in sizes)
    shown = g + r + (n - 1) * (max(0.0, g - forward) + max(0.0, g + r - backward))
    return layout.micro_batches * (shown if layout.overlap_dp else (2 * n - 1) * g + n * r)
