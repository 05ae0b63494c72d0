"""A training step in pieces, and the time of 1F1B in closed form."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from helpers.cluster.layer import Seconds, embedding_seconds, layer_seconds, loss_seconds
from helpers.cluster.layout import Layout
from helpers.cluster.machine import (
    Machine,
    all_gather_seconds,
    all_reduce_seconds,
    message_seconds,
)
from helpers.cost import ModelConfig, parameters
from helpers.schedules import Schedule, interleaved, one_f_one_b, walk

UPDATE = 56  # bytes that Adam moves for a parameter: unscale, norm, clip, update, copy to 16 bits
ROUNDS = 4  # of a pipeline that are walked through; each further one is like the last


@dataclass(frozen=True)
class Parts:
    """The pieces of a step, in seconds.

    forward, backward: of one micro-batch, for each of the pp x chunks stages. message: of one
    message between two stages, which nothing hides; 0 in a DualPipe, which does. reduce: averaging
    the gradients, after the last micro-batch. update: the optimizer. step: what is left. even:
    whether all stages have the same layers.
    """

    forward: list[Seconds]
    backward: list[Seconds]
    message: float
    reduce: float
    update: float
    step: float
    even: bool = True

    @cached_property
    def stage_seconds(self) -> list[float]:
        """What each stage needs for one micro-batch, messages among it."""
        return [
            f.total + b.total + 2 * self.message
            for f, b in zip(self.forward, self.backward, strict=True)
        ]

    def rank_seconds(self, ranks: int) -> list[float]:
        """What each rank of a pipeline needs for one micro-batch: that of all its stages."""
        each = self.stage_seconds
        return [sum(each[rank::ranks]) for rank in range(ranks)]

    def fill(self, layout: Layout) -> float:
        """The bubble of the slowest rank: what the step takes longer than its own work.

        One micro-batch passes the first stage of every other rank before the slowest rank begins,
        and after it has ended; if one of these stages is longer, as that with the embedding is, the
        others of its round come at its pace. With fewer micro-batches than ranks a round is over
        before it comes back to the next chunk: all stages then follow each other, as if each had a
        rank of its own. Where the stages between the ends are unequal, the schedule is walked
        through.

        DualPipe: (p/2 - 1)(F&B + B - 3W) (arXiv 2412.19437, table 2), where F&B is a forward pass
        beside a backward pass B, and W, the gradients of weights, half of B's products.
        """
        p, m, stages = layout.pp, layout.micro_batches, self.stage_seconds
        if layout.dualpipe:
            pair, back = max(zip(stages, self.backward, strict=True), key=lambda one: one[0])
            return (p / 2 - 1) * (pair + back.total - 1.5 * back.matmul)
        ranks, first = self.rank_seconds(p), stages[:p]
        if not self.even:
            ways = [[w.total + self.message for w in way] for way in (self.forward, self.backward)]
            return walked_seconds(*ways, p, m) - m * max(ranks)
        slowest = ranks.index(max(ranks))
        behind = (layout.round - 1) * (max(first) - first[slowest])
        begin = sum(first) - first[slowest] + behind
        return max(begin, sum(stages) + (m - 1) * max(stages) - m * max(ranks))

    def seconds(self, layout: Layout) -> float:
        """The step: the slowest rank computes all micro-batches, and the bubble."""
        slowest = max(self.rank_seconds(layout.pp))
        rest = self.reduce + self.update + self.step
        return layout.micro_batches * slowest + self.fill(layout) + rest


@lru_cache(64)
def few_rounds(ranks: int, micro_batches: int, chunks: int) -> Schedule:
    """Return 1F1B, plain or interleaved, of `ROUNDS` rounds at most."""
    if micro_batches % ranks == 0 or chunks == 1:
        micro_batches = min(micro_batches, ROUNDS * ranks)
    if chunks == 1:
        return one_f_one_b(ranks, micro_batches)
    return interleaved(ranks, micro_batches, chunks)


def walked_seconds(
    forward: Sequence[float], backward: Sequence[float], ranks: int, micro_batches: int
) -> float:
    """Return the seconds of 1F1B with stages of any length, action by action.

    After `ROUNDS` rounds each further one takes as long as the last.
    """
    chunks = len(forward) // ranks
    schedule = few_rounds(ranks, micro_batches, chunks)
    ends = [_end(schedule, forward, backward)]
    if further := micro_batches - schedule.micro_batches:
        fewer = few_rounds(ranks, (ROUNDS - 1) * ranks, chunks)
        ends.append(_end(fewer, forward, backward))
        return ends[0] + further / ranks * (ends[0] - ends[1])
    return ends[0]


def _end(schedule: Schedule, forward: Sequence[float], backward: Sequence[float]) -> float:
    seconds = {"F": forward, "B": backward, "I": backward, "W": backward}
    starts = walk(schedule, seconds).starts
    return max(
        start + seconds[action.kind][action.stage]
        for rank, row in enumerate(schedule.ranks)
        for start, action in zip(starts[rank], row, strict=True)
    )


def parts(model: ModelConfig, layout: Layout, machine: Machine) -> Parts:
    """The pieces of a step. ValueError, one sentence, where the model cannot be cut so."""
    layout.for_model(model)
    dense, counts = dense_layers(model, layout), layout.stage_layers(model.layers)
    go, back = layer_seconds(model, layout, machine)
    plain = layer_seconds(replace(model, moe=None), layout, machine) if any(dense) else (go, back)
    forward, backward = (
        [some * (n - d) + few * d for n, d in zip(counts, dense, strict=True)]
        for some, few in zip((go, back), plain, strict=True)
    )
    for end, work in ((0, embedding_seconds), (-1, loss_seconds)):
        more, more_back = work(model, layout, machine)
        forward[end] += more
        backward[end] += more_back
    if layout.dualpipe:  # half of the micro-batches of each of its two stages
        forward, backward = (
            [one * 0.5 for one in both_ends(layout, way)] for way in (forward, backward)
        )
    layers, weights = rank_layers(model, layout), stage_parameters(model, layout)
    rank = weights.index(max(weights))
    n, own = layers[rank], weights[rank]
    experts = apart(model, layout, n - rank_dense(model, layout)[rank])
    # ZeRO cuts the state of an expert among its own replicas, of which there are fewer.
    cut = (own - experts) / layout.sharding + experts / layout.expert_sharding
    if layout.zero == 3:
        ends = own - inside_parameters(model, layout)[rank]
        reduce = fsdp_seconds(layout, machine, own, experts, n, ends, go.total, back.total)
    else:
        mine = sum(work.total for work in backward[rank :: layout.pp])
        reduce = replicas_seconds(layout, machine, own, experts, n, mine)
    return Parts(
        forward,
        backward,
        _message(model, layout, machine),
        reduce + _tied(model, layout, machine),
        machine.memory_seconds(UPDATE * (cut if layout.zero else own)),
        machine.step,
        len(set(zip(counts, dense, strict=True))) == 1,
    )


# --- what a rank holds ---------------------------------------------------------------------------


def both_ends(layout: Layout, each: list) -> list:
    """Return what each rank holds, of a list of what each has of one pipeline: in a DualPipe its
    own and that of rank pp-1-r."""
    if not layout.dualpipe:
        return each
    return [a + b for a, b in zip(each, reversed(each), strict=True)]


def rank_layers(model: ModelConfig, layout: Layout) -> list[int]:
    """Return how many layers each rank of the pipeline holds."""
    return both_ends(layout, layout.rank_layers(model.layers))


def dense_layers(model: ModelConfig, layout: Layout) -> list[int]:
    """How many layers of each stage have a plain MLP in a model with experts: its first ones."""
    left, found = model.moe.dense if model.moe else 0, []
    if not left:
        return [0] * (layout.pp * layout.chunks)
    for count in layout.stage_layers(model.layers):
        found.append(min(count, left))
        left -= found[-1]
    return found


def rank_dense(model: ModelConfig, layout: Layout) -> list[int]:
    """How many of them each rank holds."""
    dense = dense_layers(model, layout)
    return both_ends(layout, [sum(dense[rank :: layout.pp]) for rank in range(layout.pp)])


def layer_parameters(model: ModelConfig, layout: Layout) -> float:
    """Weights of one layer on a rank; of one with experts, if the model has such layers."""
    count = parameters(model)
    routed = count.expert * model.moe.experts if model.moe else 0
    return (count.layer - routed) / layout.tp + expert_parameters(model, layout, 1)


def inside_parameters(model: ModelConfig, layout: Layout) -> list[float]:
    """Weights of the layers on a rank of the pipeline, for each of its pp ranks."""
    one, held = layer_parameters(model, layout), layout.rank_layers(model.layers)
    found = [n * one for n in held]
    if model.moe and model.moe.dense:
        less = one - parameters(replace(model, moe=None)).layer / layout.tp
        dense = dense_layers(model, layout)
        found = [has - sum(dense[r :: layout.pp]) * less for r, has in enumerate(found)]
    return found


def stage_parameters(model: ModelConfig, layout: Layout) -> list[float]:
    """Weights on a rank of the pipeline, for each of its pp ranks."""
    count, here = parameters(model), inside_parameters(model, layout)
    table = layout.words(model.vocabulary) * model.hidden
    here[0] += table + count.positions / layout.tp
    # Tied or not, the last matrix has this size; on one rank with the embedding it is the same.
    here[-1] += (table if layout.pp > 1 or count.head else 0) + count.final_norm / layout.tp
    return both_ends(layout, here)


def expert_parameters(model: ModelConfig, layout: Layout, layers: int) -> float:
    """Weights of routed experts in so many layers of a rank; `layout.expert_copies` ranks have the
    same."""
    if model.moe is None:
        return 0.0
    own = parameters(model).expert * model.moe.experts / layout.ep
    return own * layers / layout.per_expert


def apart(model: ModelConfig, layout: Layout, layers: int) -> float:
    """Those of them that other ranks share than the rest of the weights; 0 if the same do."""
    if layout.expert_copies == layout.replicas:
        return 0.0
    return expert_parameters(model, layout, layers)


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


def _tied(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """The gradients of a tied embedding, summed over both ends of the pipeline."""
    if not model.tied or layout.pp == 1:
        return 0.0
    table = layout.gradient_bytes * layout.words(model.vocabulary) * model.hidden
    return all_reduce_seconds(machine, table, 2, 2 if layout.gpus <= machine.node else 1)


def gather_seconds(
    layout: Layout, machine: Machine, weights: float, experts: float, size: int
) -> float:
    """Return the seconds until the ranks that share a state have all of its `weights`; a
    reduce-scatter takes the same. size: bytes of a weight. experts: how many are experts'."""
    near = min(layout.on_a_node("dp", machine.node), layout.sharding)
    rest = all_gather_seconds(machine, size * (weights - experts), layout.sharding, near)
    if not experts:
        return rest
    # Neighbors share the experts, so the replicas of one are far apart; cp comes before them.
    copies = layout.expert_sharding
    far = min(layout.on_a_node("expert_copies", machine.node), copies)
    return rest + all_gather_seconds(machine, size * experts, copies, far)


def replicas_seconds(
    layout: Layout, machine: Machine, weights: float, experts: float, layers: int, backward: float
) -> float:
    """Return what DDP and ZeRO 0 to 2 add to a step: a reduce-scatter, then an all-gather of the
    sums, or with ZeRO of the new weights. weights, experts, layers: of one rank. backward: its
    seconds for one micro-batch, all chunks.

    Both can run beside the backward passes of the last round (`overlap_dp`): those of a chunk
    beside the chunk that comes next, for all micro-batches of the round; those of the last chunk,
    layer by layer, beside the last micro-batch. Its last layer has nothing left to hide behind.
    """
    scatter = layout.gradient_bytes
    reduced = gather_seconds(layout, machine, weights, experts, scatter)
    both = scatter + (2 if layout.zero else scatter)
    seconds = gather_seconds(layout, machine, weights, experts, both)
    again = layout.reductions - 1
    if not layout.overlap_dp:
        return seconds + again * reduced
    v = layout.chunks
    own, beside = seconds / v, backward / v
    last = max(own - beside, seconds / max(v, layers))
    others = (v - 1) * max(0.0, own - layout.round * beside)
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

    ends: those of the weights that are in no layer, which nothing hides. forward, backward: seconds
    of one layer and one micro-batch.

    With g the gather of a layer, r its reduction, f and b its computing, and one network for both,
    the gather of the next layer runs beside this one. Only the first gather shows, and where
    the network is slower than the device, what it takes longer:

        forward:   g + (l-1) max(0, g-f)
        backward:  max(0, g-b) + (l-2) max(0, g+r-b) + max(0, r-b) + r

    In the backward pass the last layer is still whole (`reshard_after_forward` leaves it); the
    first layer's own reduction is left at the end. All of it happens in each micro-batch. In a
    pipeline FSDP keeps the weights for the whole step instead: that is `Layout(zero=2)`, or
    `zero=1` where gradients stay whole too.
    """
    n, f, b = max(1, layers), forward, backward
    inside = (weights - ends) / n, experts / n
    g = gather_seconds(layout, machine, *inside, 2)
    r = gather_seconds(layout, machine, *inside, layout.gradient_bytes)
    outside = gather_seconds(layout, machine, ends, 0.0, 2 + layout.gradient_bytes)
    if not layout.overlap_dp:
        return layout.micro_batches * ((2 * n - 1) * g + n * r + outside)
    shown = g + (n - 1) * max(0.0, g - f) + r
    if n > 1:
        shown += max(0.0, g - b) + (n - 2) * max(0.0, g + r - b) + max(0.0, r - b)
    return layout.micro_batches * (shown + outside)
