"""What one device keeps during a step, by component."""

from dataclasses import dataclass
from math import ceil

from helpers.cluster.layout import Layout
from helpers.cluster.parts import expert_parameters, stage_parameters
from helpers.cost import ModelConfig, layer_activations, states


@dataclass(frozen=True)
class Memory:
    """Bytes on the device that keeps most.

    weights, gradients, optimizer: see `helpers.cost.states`. activations: what the backward pass
    waits for. working: what lives for a moment: one layer's activations while it is computed
    again, logits, gathered weights. What the framework itself takes, and what the allocator leaves
    unused, is not counted: a few GB on a GPU.
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
        return {
            "weights": self.weights,
            "gradients": self.gradients,
            "optimizer": self.optimizer,
            "activations": self.activations,
            "working": self.working,
        }


def memory(model: ModelConfig, layout: Layout) -> Memory:
    """Of the first stage or the last, whichever keeps more."""
    weights = stage_parameters(model, layout)
    return max((_stage(model, layout, s, weights[s]) for s in (0, -1)), key=lambda m: m.total)


def _stage(model: ModelConfig, layout: Layout, stage: int, weights: float) -> Memory:
    """Of the first stage (0) or the last (-1)."""
    precision = "mixed, fp32 gradients" if layout.fp32_gradients else "mixed"
    copies = layout.expert_copies
    experts = expert_parameters(model, layout) if copies != layout.replicas else 0.0
    kept = states(weights - experts, precision, layout.zero, layout.replicas)
    own = states(experts, precision, layout.zero, copies)
    recompute = "selective" if layout.flash and layout.recompute == "none" else layout.recompute
    sizes = (model, layout.micro_batch, layout.sequence, layout.tp, layout.sequence_parallel)
    per_chunk = model.layers / (layout.pp * layout.chunks)
    flying = chunks_in_flight(layout, 0 if stage == 0 else layout.pp - 1)
    working = 0.0
    if recompute == "full":
        again = "selective" if layout.flash else "none"
        working = layer_activations(*sizes, recompute=again, cp=layout.cp)
    if layout.zero == 3:  # the layer at work and the next one, whole
        working += 4 * weights / (model.layers / layout.pp)
    if layout.cp > 1 and layout.context == "gather":  # the keys and values of all, for one layer
        working += 4 * layout.micro_batch * layout.sequence * model.kv_width / layout.tp
    if stage == -1 or layout.pp == 1:  # logits in 16 bits, and in 32 for the loss
        working = max(working, 6 * layout.tokens * model.vocabulary / layout.tp)
    return Memory(
        kept.weights + own.weights,
        kept.gradients + own.gradients,
        kept.optimizer + own.optimizer,
        layer_activations(*sizes, recompute=recompute, cp=layout.cp) * per_chunk * flying,
        working,
    )


def chunks_in_flight(layout: Layout, rank: int) -> int:
    """Activations of one chunk and one micro-batch that a rank of 1F1B keeps at most.

    Plain: p - r. Interleaved: 2(p-1-r) + (v-1)p + 1 (arXiv 2104.04473, section 2.2), where p
    divides the micro-batches; else the longest round takes the place of the second p.
    """
    p, v = layout.pp, layout.chunks
    ahead = p - rank if v == 1 else 2 * (p - 1 - rank) + (v - 1) * ceil(layout.round) + 1
    return min(ahead, v * layout.micro_batches)
