"""A training step in pieces, and the time of 1F1B in closed form."""

from dataclasses import dataclass, replace
from functools import cached_property

from helpers.cluster.layer import Seconds, embedding_seconds, layer_seconds, loss_seconds
from helpers.cluster.layout import Layout
from helpers.cluster.machine import (
    Machine,
    all_gather_seconds,
    all_reduce_seconds,
    message_seconds,
)
from helpers.cluster.replicas import fsdp_seconds, replicas_seconds
from helpers.cluster.uneven import interleaved_seconds, one_f_one_b_seconds
from helpers.cost import ModelConfig, parameters

UPDATE = 56  # bytes that Adam moves for a parameter: unscale, norm, clip, update, copy to 16 bits


@dataclass(frozen=True)
class Parts:
    """The pieces of a step, in seconds.

    forward, backward: of one micro-batch, for each stage (pp x chunks of them).
    message: of one message between two stages, which nothing hides; 0 in a DualPipe, which does.
    even: whether all stages have the same layers.
    reduce: averaging the gradients over the replicas, after the last micro-batch. update: the
    optimizer. step: what is left.
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
        rank of its own. Where the stages between the ends are unequal: `helpers.cluster.uneven`.

        DualPipe: (p/2 - 1)(F&B + B - 3W) (arXiv 2412.19437, table 2). Both ends fill at once, so a
        rank waits for half of the others; F&B is the forward pass of one micro-batch beside the
        backward pass B of another, and W, the gradients of weights, half of its products.
        """
        p, m, stages = layout.pp, layout.micro_batches, self.stage_seconds
        if layout.dualpipe:
            pair, back = max(zip(stages, self.backward, strict=True), key=lambda one: one[0])
            return (p / 2 - 1) * (pair + back.total - 1.5 * back.matmul)
        ranks, first = self.rank_seconds(p), stages[:p]
        if not self.even:
            ways = [[w.total + self.message for w in way] for way in (self.forward, self.backward)]
            if layout.chunks == 1:
                return one_f_one_b_seconds(*ways, m) - m * max(ranks)
            return interleaved_seconds(*ways, p, m) - m * max(ranks)
        slowest = ranks.index(max(ranks))
        behind = (layout.round - 1) * (max(first) - first[slowest])
        begin = sum(first) - first[slowest] + behind
        return max(begin, sum(stages) + (m - 1) * max(stages) - m * max(ranks))

    def seconds(self, layout: Layout) -> float:
        """The step: the slowest rank computes all micro-batches, and the bubble."""
        slowest = max(self.rank_seconds(layout.pp))
        rest = self.reduce + self.update + self.step
        return layout.micro_batches * slowest + self.fill(layout) + rest


def parts(model: ModelConfig, layout: Layout, machine: Machine) -> Parts:
    """The pieces of a step. ValueError, one sentence, where the model cannot be cut so."""
    layout.for_model(model)
    counts = layout.stage_layers(model.layers)
    dense = dense_layers(model, layout)
    go, back = layer_seconds(model, layout, machine)
    plain = layer_seconds(replace(model, moe=None), layout, machine) if any(dense) else (go, back)
    sizes = {
        (n, d): (go * (n - d) + plain[0] * d, back * (n - d) + plain[1] * d)
        for n, d in set(zip(counts, dense, strict=True))
    }
    forward, backward = (
        [sizes[each][way] for each in zip(counts, dense, strict=True)] for way in (0, 1)
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
    plain_ones = both_ends(layout, [sum(dense[r :: layout.pp]) for r in range(layout.pp)])
    experts = apart(model, layout, n - plain_ones[rank])
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
        len(sizes) == 1,
    )


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
    for count in layout.stage_layers(model.layers):
        found.append(min(count, left))
        left -= found[-1]
    return found


def layer_parameters(model: ModelConfig, layout: Layout) -> float:
    """Weights of one layer on a rank; of one with experts, if the model has such layers."""
    count = parameters(model)
    routed = count.expert * model.moe.experts if model.moe else 0
    return (count.layer - routed) / layout.tp + expert_parameters(model, layout, 1)


def inside_parameters(model: ModelConfig, layout: Layout) -> list[float]:
    """Weights of the layers on a rank of the pipeline, for each of its pp ranks."""
    one, dense = layer_parameters(model, layout), dense_layers(model, layout)
    less = one - parameters(replace(model, moe=None)).layer / layout.tp
    layers = enumerate(layout.rank_layers(model.layers))
    return [n * one - sum(dense[rank :: layout.pp]) * less for rank, n in layers]


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
    return own * layers / (layout.expert_tp or layout.tp)


def apart(model: ModelConfig, layout: Layout, layers: int) -> float:
    """Those of them that other ranks share than the rest of the weights; 0 if the same do."""
    if layout.expert_copies == layout.replicas:
        return 0.0
    return expert_parameters(model, layout, layers)


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
