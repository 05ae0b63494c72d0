"""What one device keeps during a step, by component."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import ceil

from helpers.cluster.layout import Layout
from helpers.cluster.parts import (
    apart,
    few_rounds,
    layer_parameters,
    rank_dense,
    rank_layers,
    stage_parameters,
)
from helpers.cost import ModelConfig, layer_activations, states


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
    """Of the rank of the pipeline that keeps most.

    Where all stages have as many layers, that is the first, which has most micro-batches on their
    way, or the last, which has the logits.
    """
    even = model.layers % (layout.pp * layout.chunks) == 0 and not (model.moe and model.moe.dense)
    ranks = {0, layout.pp - 1} if even else range(layout.pp)
    return max(rank_memories(model, layout, ranks), key=lambda m: m.total)


def rank_memories(model: ModelConfig, layout: Layout, ranks: Iterable[int]) -> list[Memory]:
    """Of these ranks of the pipeline, each alone.

    Of a model whose first layers have no experts, these too keep what one with experts keeps.
    """
    weights, layers = stage_parameters(model, layout), rank_layers(model, layout)
    one, kept = layer_parameters(model, layout), kept_activations(model, layout)
    working = 0.0
    if layout.recompute in ("op", "full"):  # one layer at a time is whole again
        working = _activations(model, layout, "selective" if layout.flash else "none")
    if layout.zero == 3:  # the layer at work and the next one
        working += 4 * one
    if layout.cp > 1 and layout.context == "gather":  # the keys and values of all, for one layer
        working += 4 * layout.micro_batch * layout.sequence * model.kv_width / layout.tp
    dense = rank_dense(model, layout)
    return [
        _rank_memory(
            *(model, layout, rank, weights[rank]), layers[rank], dense[rank], one, kept, working
        )
        for rank in ranks
    ]


def _rank_memory(
    model: ModelConfig,
    layout: Layout,
    rank: int,
    weights: float,
    layers: int,
    dense: int,
    one: float,
    kept: float,
    working: float,
) -> Memory:
    """Of one rank. one: weights of a layer. kept: its activations. working: what all ranks need."""
    precision = "mixed, fp32 gradients" if layout.fp32_gradients else "mixed"
    if layout.zero == 3 and layout.fp32_gradients:
        precision = "fp32"  # FSDP keeps the optimizer's weights only, and casts what it gathers
    experts = apart(model, layout, layers - dense)
    held = [states(weights - experts, precision, layout.zero, layout.sharding)]
    if experts:
        held.append(states(experts, precision, layout.zero, layout.expert_sharding))
    if layout.zero == 3:  # what is in no layer stays whole
        working += 2 * max(0.0, weights - layers * one)
    if layout.zero > 1:  # a gradient is whole until it is reduced
        working += layout.gradient_bytes * (weights / layout.chunks if layout.chunks > 1 else one)
    if rank == layout.pp - 1:  # logits in 16 bits, and in 32 for the loss
        working = max(working, 6 * layout.tokens * layout.words(model.vocabulary))
    return Memory(
        sum(each.weights for each in held),
        sum(each.gradients for each in held),
        sum(each.optimizer for each in held),
        kept * layers_in_flight(model, layout, rank),
        working,
    )


def kept_activations(model: ModelConfig, layout: Layout) -> float:
    """Bytes of one layer and one micro-batch. `layout.flash` stands for fused kernels."""
    return _activations(model, layout, layout.recompute)


def _activations(model: ModelConfig, layout: Layout, recompute: str) -> float:
    sizes = layout.micro_batch, layout.sequence, layout.tp, layout.sequence_parallel
    return layer_activations(model, *sizes, recompute, layout.cp, layout.flash)


def layers_in_flight(model: ModelConfig, layout: Layout, rank: int) -> int:
    """How many layers' activations a rank of 1F1B keeps at most, each of one micro-batch.

    Plain: those of p - r micro-batches. Interleaved: of 2(p-1-r) + (v-1)p + 1 chunks (arXiv
    2104.04473, section 2.2), where p divides the micro-batches; else the longest round takes the
    place of the second p. In a DualPipe a rank keeps those of 1F1B for both of its stages, p+1 in
    all (arXiv 2412.19437, table 2).
    """
    counts, p, v = layout.stage_layers(model.layers), layout.pp, layout.chunks
    if layout.dualpipe:
        return (p - rank) * counts[rank] + (rank + 1) * counts[-1 - rank]
    if v > 1 and model.layers % len(counts):
        return _most_layers(tuple(counts), p, layout.micro_batches)[rank]
    ahead = p - rank if v == 1 else 2 * (p - 1 - rank) + (v - 1) * ceil(layout.round) + 1
    return min(ahead, v * layout.micro_batches) * counts[rank]


@cache
def _most_layers(layers: tuple[int, ...], ranks: int, micro_batches: int) -> list[int]:
    """How many layers' activations each rank keeps at most; layers: of each stage."""
    schedule = few_rounds(ranks, micro_batches, len(layers) // ranks)
    return [
        max(accumulate(layers[a.stage] * (1 if a.kind == "F" else -1) for a in actions))
        for actions in schedule.ranks
    ]
