"""A training step in pieces: the time of 1F1B in closed form, and what a device keeps meanwhile.

Layers are taken to be alike: where the first ones have no experts, each has the mean of them all.
"""

from dataclasses import dataclass
from functools import cached_property

from helpers.cluster.layer import Seconds, layer_seconds, loss_seconds
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine, all_gather_seconds, message_seconds
from helpers.cost import ModelConfig, layer_activations, parameters, states

UPDATE = 56  # bytes that Adam moves for a parameter: unscale, norm, clip, update, copy to 16 bits


@dataclass(frozen=True)
class Parts:
    """The pieces of a step, in seconds.

    forward, backward: of one micro-batch, for each of the pp x chunks stages. message: of one
    message between two stages, which nothing hides; 0 in a DualPipe, which does. reduce: averaging
    the gradients, after the last micro-batch. update: the optimizer. step: what is left.
    """

    forward: list[Seconds]
    backward: list[Seconds]
    message: float
    reduce: float
    update: float
    step: float

    @cached_property
    def stage_seconds(self) -> list[float]:
        """What each stage needs for one micro-batch, messages among it."""
        both = zip(self.forward, self.backward, strict=True)
        return [f.total + b.total + 2 * self.message for f, b in both]

    def rank_seconds(self, ranks: int) -> list[float]:
        """What each rank of a pipeline needs for one micro-batch: that of all its stages."""
        each = self.stage_seconds
        return [sum(each[rank::ranks]) for rank in range(ranks)]

    def fill(self, layout: Layout) -> float:
        """The bubble of the slowest rank: what the step takes longer than its own work.

        One micro-batch passes the first stage of every other rank before the slowest rank begins,
        and after it has ended; if one of these stages is longer, the others of its round come at
        its pace. With fewer micro-batches than ranks a round is over before it comes back to the
        next chunk: all stages then follow each other, as if each had a rank of its own.

        DualPipe: (p/2 - 1)(F&B + B - 3W) (arXiv 2412.19437, table 2), where F&B is a forward pass
        beside a backward pass B, and W, the gradients of weights, half of B's products.
        """
        p, m, stages = layout.pp, layout.micro_batches, self.stage_seconds
        if layout.dualpipe:
            pair, back = max(zip(stages, self.backward, strict=True), key=lambda one: one[0])
            return (p / 2 - 1) * (pair + back.total - 1.5 * back.matmul)
        ranks, first = self.rank_seconds(p), stages[:p]
        slowest = ranks.index(max(ranks))
        behind = (layout.longest_round - 1) * (max(first) - first[slowest])
        begin = sum(first) - first[slowest] + behind
        return max(begin, sum(stages) + (m - 1) * max(stages) - m * max(ranks))

    def seconds(self, layout: Layout) -> float:
        """The step: the slowest rank computes all micro-batches, and the bubble."""
        slowest = max(self.rank_seconds(layout.pp))
        rest = self.reduce + self.update + self.step
        return layout.micro_batches * slowest + self.fill(layout) + rest


def parts(model: ModelConfig, layout: Layout, machine: Machine) -> Parts:
    """The pieces of a step. ValueError, one sentence, where the model cannot be cut so."""
    counts = layout.for_model(model).stage_layers(model.layers)
    ways = []
    layer, loss = layer_seconds(model, layout, machine), loss_seconds(model, layout, machine)
    for one, end in zip(layer, loss, strict=True):
        stages = [one * count for count in counts]
        stages[-1] += end
        ways.append(stages)
    if layout.dualpipe:  # half of the micro-batches of each of its two stages
        ways = [[one * 0.5 for one in both_ends(layout, way)] for way in ways]
    all_weights, all_experts = rank_weights(model, layout)
    rank = all_weights.index(max(all_weights))
    own, experts = all_weights[rank], all_experts[rank]
    layers = both_ends(layout, layout.rank_layers(model.layers))[rank]
    # ZeRO cuts the state of an expert among its own replicas, of which there are fewer.
    cut = (own - experts) / layout.sharding + experts / layout.expert_sharding
    if layout.zero == 3:
        reduce = fsdp_seconds(layout, machine, own, experts, layers, *(one.total for one in layer))
    else:
        backward = sum(work.total for work in ways[1][rank :: layout.pp])
        reduce = replicas_seconds(layout, machine, own, experts, layers, backward)
    return Parts(
        *ways,
        message=_message(model, layout, machine),
        reduce=reduce,
        update=machine.memory_seconds(UPDATE * (cut if layout.zero else own)),
        step=machine.step,
    )


# --- what a rank holds ---------------------------------------------------------------------------


def both_ends(layout: Layout, each: list) -> list:
    """Return what each rank holds, of a list of what each has of one pipeline: in a DualPipe its
    own and that of rank pp-1-r."""
    if not layout.dualpipe:
        return each
    return [a + b for a, b in zip(each, reversed(each), strict=True)]


def layer_weights(model: ModelConfig, layout: Layout) -> tuple[float, float]:
    """Return the weights of one layer on a rank, and how many of them are routed experts'."""
    count = parameters(model)
    outside = count.embedding + count.positions + count.final_norm + count.head
    routed = count.expert * model.moe.experts * model.expert_layers if model.moe else 0
    experts = routed / model.layers / (layout.ep * layout.per_expert)
    return (count.total - outside - routed) / model.layers / layout.tp + experts, experts


def rank_weights(model: ModelConfig, layout: Layout) -> tuple[list[float], list[float]]:
    """Return the same for each of the pp ranks of a pipeline."""
    count, layers = parameters(model), layout.rank_layers(model.layers)
    one, experts = layer_weights(model, layout)
    here = [n * one for n in layers]
    here[0] += (count.embedding + count.positions) / layout.tp
    # Tied or not, the last matrix has this size; on one rank with the embedding it is the same.
    head = count.embedding if layout.pp > 1 or count.head else 0
    here[-1] += (head + count.final_norm) / layout.tp
    return both_ends(layout, here), both_ends(layout, [n * experts for n in layers])


@dataclass(frozen=True)
class Memory:
    """Bytes on the device that keeps most.

    weights, gradients, optimizer: see `helpers.cost.states`. activations: what the backward pass
    waits for. working: what lives for a moment: one layer's activations while it is computed
    again, logits, gathered weights, gradients on their way. What the framework itself takes, and
    what the allocator leaves unused, is not counted: a few GB on a GPU.
    """

    weights: float
    gradients: float
    optimizer: float
    activations: float
    working: float

    @property
    def total(self) -> float:
        return sum(self.named().values())

    def named(self) -> dict[str, float]:
        """{component: bytes}."""
        return dict(vars(self))


def memory(model: ModelConfig, layout: Layout) -> Memory:
    """Of the rank of the pipeline that keeps most: where all stages have as many layers, the first,
    which has most micro-batches on their way, or the last, which has the logits."""
    even = model.layers % (layout.pp * layout.chunks) == 0
    ranks = sorted({0, layout.pp - 1}) if even else range(layout.pp)
    kept, one = layer_kept(model, layout, layout.recompute), layer_weights(model, layout)[0]
    again = 0.0
    if layout.recompute == "full":  # one layer at a time is whole again
        again = layer_kept(model, layout, "selective" if layout.flash else "none")
    if layout.zero == 3:  # the layer at work and the next one
        again += 4 * one
    if layout.cp > 1 and layout.context == "gather":  # the keys and values of all, for one layer
        again += 4 * layout.micro_batch * layout.sequence * model.kv_width / layout.tp
    logits = 6 * layout.tokens * model.vocabulary / layout.tp  # in 16 bits, and 32 for the loss
    precision = "mixed, fp32 gradients" if layout.fp32_gradients else "mixed"
    if layout.zero == 3 and layout.fp32_gradients:
        precision = "fp32"  # FSDP keeps the optimizer's weights only, and casts what it gathers
    all_weights, all_experts = rank_weights(model, layout)
    layers, found = layout.rank_layers(model.layers), []
    for rank in ranks:
        own, experts, working = all_weights[rank], all_experts[rank], again
        held = (
            states(own - experts, precision, layout.zero, layout.sharding),
            states(experts, precision, layout.zero, layout.expert_sharding),
        )
        if layout.zero == 3:  # what is in no layer stays whole
            working += 2 * max(0.0, own - layers[rank] * one)
        if layout.zero > 1:  # a gradient is whole until it is reduced
            working += layout.gradient_bytes * (own / layout.chunks if layout.chunks > 1 else one)
        if rank == layout.pp - 1:
            working = max(working, logits)
        each = [
            sum(getattr(part, name) for part in held)
            for name in ("weights", "gradients", "optimizer")
        ]
        found.append(Memory(*each, kept * layers_in_flight(model, layout, rank), working))
    return max(found, key=lambda one: one.total)


def layer_kept(model: ModelConfig, layout: Layout, recompute: str) -> float:
    """Bytes of activations of one layer and one micro-batch."""
    sizes = layout.micro_batch, layout.sequence, layout.tp, layout.sequence_parallel
    return layer_activations(model, *sizes, recompute, layout.cp, layout.flash)


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


# --- what ranks send each other ------------------------------------------------------------------


def _message(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """From stage to stage: each tensor-parallel rank sends its share, then all gather them."""
    if layout.pp == 1 or layout.dualpipe:
        return 0.0
    size = 2 * layout.tokens * model.hidden
    sent = message_seconds(machine, size / layout.tp, layout.on_a_node("pp", machine.node) > 1)
    if layout.sequence_parallel:  # the next stage works on shares too
        return sent
    near = layout.on_a_node("tp", machine.node)
    return sent + all_gather_seconds(machine, size, layout.tp, near)


def gather_seconds(
    layout: Layout, machine: Machine, weights: float, experts: float, size: int
) -> float:
    """Return the seconds until the ranks that share a state have all of its `weights`; a
    reduce-scatter takes the same. size: bytes of a weight. experts: how many are experts'."""
    near = min(layout.on_a_node("dp", machine.node), layout.sharding)
    rest = all_gather_seconds(machine, size * (weights - experts), layout.sharding, near)
    # Neighbors share the experts, so the replicas of one are far apart; cp comes before them.
    copies = layout.expert_sharding if experts else 1
    far = min(layout.on_a_node("expert_copies", machine.node), copies)
    return rest + all_gather_seconds(machine, size * experts, copies, far)


def replicas_seconds(
    layout: Layout, machine: Machine, weights: float, experts: float, layers: int, backward: float
) -> float:
    """Return what DDP and ZeRO 0 to 2 add to a step: a reduce-scatter, then an all-gather of the
    sums, or with ZeRO of the new weights. weights, experts, layers: of one rank. backward: its
    seconds for one micro-batch, all chunks.

    Both can run beside the last backward passes (`overlap_dp`): those of a chunk beside the chunk
    that comes next, those of the last chunk, layer by layer, beside its last micro-batch, whose
    last layer has nothing left to hide behind. ZeRO 2 has no room for whole gradients; what it
    reduces after each micro-batch is taken to be hidden.
    """
    sizes = layout.gradient_bytes + (2 if layout.zero else layout.gradient_bytes)
    seconds = gather_seconds(layout, machine, weights, experts, sizes)
    if not layout.overlap_dp:
        return seconds
    return max((seconds - backward) / layout.chunks, seconds / max(layout.chunks, layers))


def fsdp_seconds(
    layout: Layout,
    machine: Machine,
    weights: float,
    experts: float,
    layers: int,
    forward: float,
    backward: float,
) -> float:
    """Return what ZeRO 3 adds to a step, as FSDP2's `fully_shard` runs it on each layer.

    forward, backward: seconds f, b of one layer and one micro-batch. The gather of the next layer
    (g) and the reduction of the one before (r) run beside each layer, on one network. So only the
    first gather and the last reduction show, and where the network is slower than the device, what
    it takes longer: g + r + (l-1) (max(0, g-f) + max(0, g+r-b)), in each micro-batch. In a pipeline
    FSDP keeps the weights for the whole step instead: that is `Layout(zero=2)`, or `zero=1` where
    gradients stay whole too.
    """
    n = max(1, layers)
    g, r = (
        gather_seconds(layout, machine, weights / n, experts / n, size)
        for size in (2, layout.gradient_bytes)
    )
    shown = g + r + (n - 1) * (max(0.0, g - forward) + max(0.0, g + r - backward))
    return layout.micro_batches * (shown if layout.overlap_dp else (2 * n - 1) * g + n * r)
