"""What replicas send each other in a step, gradients and weights, and how much of it shows."""

from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine, all_gather_seconds, all_reduce_seconds


def gather_seconds(
    layout: Layout, machine: Machine, weights: float, experts: float, size: int
) -> float:
    """Return the seconds until the ranks that share a state have all of its `weights`.

    A reduce-scatter takes the same. size: bytes of a weight. experts: how many of the weights are
    experts', which other ranks share, `layout.expert_sharding` of them.
    """
    near = min(layout.on_a_node("dp", machine.node), layout.sharding)
    rest = all_gather_seconds(machine, size * (weights - experts), layout.sharding, near)
    if not experts:
        return rest
    # Neighbors share the experts, so the replicas of one are far apart; cp comes before them.
    copies = layout.expert_sharding
    apart = min(layout.on_a_node("expert_copies", machine.node), copies)
    return rest + all_gather_seconds(machine, size * experts, copies, apart)


def across_seconds(layout: Layout, machine: Machine, weights: float, experts: float) -> float:
    """Return the seconds of HSDP's all-reduce across groups; 0 where there is one group.

    HSDP (arXiv 2304.11277, section 3.2.2): F of the W replicas share a state. Each of them has the
    F-th part of the gradients after the reduce-scatter among neighbors, so only that part is
    all-reduced over the W / F groups, which may be far apart.
    """
    if layout.replicate == 1:
        return 0.0
    near = max(1, layout.on_a_node("dp", machine.node) // layout.sharding)
    part = (weights - experts) / layout.sharding + experts / layout.expert_sharding
    return all_reduce_seconds(machine, layout.gradient_bytes * part, layout.replicate, near)


def replicas_seconds(
    layout: Layout, machine: Machine, weights: float, experts: float, layers: int, backward: float
) -> float:
    """Return what DDP and ZeRO 0 to 2 add to a step: a reduce-scatter, then an all-gather.

    The all-gather brings the rest of the sums, or with ZeRO the new weights. With ZeRO 2 gradients
    are reduced `layout.reductions` times.

    weights, experts, layers: of one rank. backward: its seconds for one micro-batch, all chunks.

    Both can run beside the backward passes of the last round (`overlap_dp`): those of a chunk
    beside the chunk that comes next, for all micro-batches of the round; those of the last chunk,
    layer by layer, beside the last micro-batch. Its last layer has nothing left to hide behind.
    """
    back = 2 if layout.zero else layout.gradient_bytes
    across = across_seconds(layout, machine, weights, experts)
    reduced = across + gather_seconds(layout, machine, weights, experts, layout.gradient_bytes)
    both = layout.gradient_bytes + back
    seconds = across + gather_seconds(layout, machine, weights, experts, both)
    again = layout.reductions - 1
    if not layout.overlap_dp:
        return seconds + again * reduced
    v = layout.chunks
    own, beside = seconds / v, backward / v
    last = max(own - beside, seconds / max(v, layers))
    others = (v - 1) * max(0.0, own - layout.round * beside) if v > 1 else 0.0
    between = backward * layout.micro_batches / layout.reductions
    return last + others + again * max(0.0, reduced - between)


def fsdp_seconds(
    layout: Layout,
    machine: Machine,
    weights: float,
    experts: float,
    layers: int,
    ends: float,
    forward: float,
    backward: float,
) -> float:
    """Return what ZeRO 3 adds to a step, as FSDP2's `fully_shard` runs it on each layer.

    ends: those of the weights that are in no layer: embedding, last norm, output matrix. They are
    gathered before the forward pass, kept, and reduced after the backward pass: nothing hides
    them. forward, backward: seconds of one layer and one micro-batch.

    With g the gather of a layer, r its reduction, f and b its computing, and one network for both,
    the gather of the next layer runs beside this one. Only the first gather shows, and where
    the network is slower than the device, what it takes longer:

        forward:   g + (l-1) max(0, g-f)
        backward:  max(0, g-b) + (l-2) max(0, g+r-b) + max(0, r-b) + r

    In the backward pass the last layer is still whole (`reshard_after_forward` leaves it), so the
    gather of the one below comes first, alone; then each layer has a gather and a reduction
    beside it; the first layer's own reduction is left at the end. torchtitan sets FSDP up so
    (`parallelize_llama.py`). Computing isn't slowed down by what runs beside it.

    All of it happens in each micro-batch. In a pipeline FSDP keeps the weights for the whole step
    instead: that is `Layout(zero=2)`, or `zero=1` where gradients stay whole too.
    """
    n = max(1, layers)
    inside = (weights - ends) / n, experts / n
    g = gather_seconds(layout, machine, *inside, 2)
    r = gather_seconds(layout, machine, *inside, layout.gradient_bytes)
    r += across_seconds(layout, machine, *inside)
    outside = gather_seconds(layout, machine, ends, 0.0, 2 + layout.gradient_bytes)
    outside += across_seconds(layout, machine, ends, 0.0)
    if not layout.overlap_dp:
        return layout.micro_batches * ((2 * n - 1) * g + n * r + outside)
    f, b = forward, backward
    shown = g + (n - 1) * max(0.0, g - f) + r
    if n > 1:
        shown += max(0.0, g - b) + (n - 2) * max(0.0, g + r - b) + max(0.0, r - b)
    return layout.micro_batches * (shown + outside)
