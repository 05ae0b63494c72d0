"""A training step in pieces, and the time of 1F1B in closed form."""

from dataclasses import dataclass, replace
from math import ceil

from helpers.cluster.layer import Seconds, embedding_seconds, layer_seconds, loss_seconds
from helpers.cluster.layout import Layout
from helpers.cluster.machine import (
    Machine,
    all_gather_seconds,
    all_reduce_seconds,
    message_seconds,
)
from helpers.cost import ModelConfig, parameters

UPDATE = 56  # bytes that Adam moves for a parameter: unscale, norm, clip, update, copy to 16 bits


@dataclass(frozen=True)
class Parts:
    """The pieces of a step, in seconds.

    forward, backward: of one micro-batch, for each stage (pp x chunks of them).
    message: of one message between two stages, which nothing hides; 0 in a DualPipe, which does.
    reduce: averaging the gradients over the replicas, after the last micro-batch. update: the
    optimizer. step: what is left.
    """

    forward: list[Seconds]
    backward: list[Seconds]
    message: float
    reduce: float
    update: float
    step: float

    @property
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
        rank of its own.

        DualPipe: (p/2 - 1)(F&B + B - 3W) (arXiv 2412.19437, table 2). Both ends fill at once, so a
        rank waits for half of the others; F&B is the forward pass of one micro-batch beside the
        backward pass B of another, and W, the gradients of weights, half of its products.
        """
        p, m, stages = layout.pp, layout.micro_batches, self.stage_seconds
        if layout.dualpipe:
            pair, back = max(zip(stages, self.backward, strict=True), key=lambda one: one[0])
            return (p / 2 - 1) * (pair + back.total - 1.5 * back.matmul)
        ranks, first = self.rank_seconds(p), stages[:p]
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
    stages = layout.pp * layout.chunks
    per, dense = model.layers // stages, model.moe.dense if model.moe else 0
    go, back = layer_seconds(model, layout, machine)
    forward, backward = [go * per] * stages, [back * per] * stages
    if dense:
        plain, plain_back = layer_seconds(replace(model, moe=None), layout, machine)
        for i in range(ceil(dense / per)):
            some = min(per, dense - i * per)
            forward[i] = go * (per - some) + plain * some
            backward[i] = back * (per - some) + plain_back * some
    for end, work in ((0, embedding_seconds), (-1, loss_seconds)):
        more, more_back = work(model, layout, machine)
        forward[end] += more
        backward[end] += more_back
    if layout.dualpipe:  # a rank has the stages r and p-1-r, and half of the micro-batches of each
        forward = [(a + b) * 0.5 for a, b in zip(forward, reversed(forward), strict=True)]
        backward = [(a + b) * 0.5 for a, b in zip(backward, reversed(backward), strict=True)]
    weights = max(stage_parameters(model, layout))
    # ZeRO cuts the state of an expert among its own replicas, of which there are fewer.
    experts = expert_parameters(model, layout)
    cut = (weights - experts) / layout.replicas + experts / layout.expert_copies
    return Parts(
        forward,
        backward,
        _message(model, layout, machine),
        _reduce(model, layout, machine, weights, backward[-1].total),
        machine.memory_seconds(UPDATE * (cut if layout.zero else weights)),
        machine.step,
    )


def stage_parameters(model: ModelConfig, layout: Layout) -> tuple[float, float]:
    """Weights on a rank of the first stage, and of the last."""
    count, own = parameters(model), expert_parameters(model, layout)
    routed = count.expert * model.moe.experts if model.moe else 0
    if layout.pp == 1:
        return ((count.total - routed * model.expert_layers) / layout.tp + own,) * 2
    layers = (count.layer - routed) * model.layers / layout.pp
    table = count.embedding + count.positions
    last = count.embedding + count.final_norm  # tied or not, the last matrix has this size
    return (layers + table) / layout.tp + own, (layers + last) / layout.tp + own


def expert_parameters(model: ModelConfig, layout: Layout) -> float:
    """Weights of routed experts on a rank; `layout.expert_copies` ranks have the same."""
    if model.moe is None:
        return 0.0
    own = parameters(model).expert * model.moe.experts / layout.ep
    layers = min(model.layers / layout.pp, model.expert_layers)
    return own * layers / (layout.expert_tp or layout.tp)


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


def _reduce(
    model: ModelConfig, layout: Layout, machine: Machine, weights: float, beside: float
) -> float:
    """Gradients over the replicas, and of a tied embedding over both ends of the pipeline.

    beside: seconds of computing that can hide it: the backward pass of the last micro-batch. The
    gradients of the last layer have nothing left to hide behind.
    """
    each, near = 4 if layout.fp32_gradients else 2, layout.on_a_node("dp", machine.node)
    back = 2 if layout.zero else each  # with ZeRO, weights come back, not gradients
    copies = layout.expert_copies
    experts = expert_parameters(model, layout) if copies != layout.replicas else 0.0
    # Neighbors share the experts, so the replicas of one are far apart; cp comes before them.
    apart = layout.on_a_node("expert_copies", machine.node)

    def gather(size: int) -> float:
        rest = all_gather_seconds(machine, size * (weights - experts), layout.replicas, near)
        own = all_gather_seconds(machine, size * experts, copies, apart) if experts else 0.0
        return rest + own

    seconds = gather(each + back)
    if layout.zero == 3:
        seconds += (2 * layout.micro_batches - 1) * gather(2)
        beside *= 1.5 * layout.micro_batches  # weights are gathered beside every pass
    if layout.overlap_dp:
        seconds = max(seconds - beside, seconds * layout.pp / model.layers)
    if model.tied and layout.pp > 1:
        table = each * model.vocabulary * model.hidden / layout.tp
        both = 2 if layout.gpus <= machine.node else 1
        seconds += all_reduce_seconds(machine, table, 2, both)
    return seconds
