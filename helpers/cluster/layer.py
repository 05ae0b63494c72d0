"""What a layer takes on one device: matrix products, all other kernels, collectives, the host; and
what lies outside of the layers, the word embedding in front and the loss behind.

Matrix products take operations; everything else reads and writes memory, and its bytes are counted
by Megatron-LM's kernels.
"""

from dataclasses import dataclass

from helpers.cluster.experts import experts_seconds
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine, all_gather_seconds, all_reduce_seconds
from helpers.cluster.products import (
    every_second_seconds,
    head_widths,
    products_seconds,
    weight_products,
)
from helpers.cost import ModelConfig, context_parallel_bytes

# Kernels that the host starts, forward and backward: norms, products, softmax, dropouts, copies.
KERNELS, KERNELS_BACK, KERNELS_SCORES = 18, 36, 5
KERNELS_EMBEDDING, KERNELS_LOSS = 6, 12
# Of experts: router, top-k, order, permutation, dispatch, and back; and the products of each one,
# which the host starts one by one.
KERNELS_ROUTED, KERNELS_EXPERT = (10, 20), (2, 4)
# Bytes read and written, forward and backward, for each value ...
NORMS = 22, 42  # ... of (tokens, hidden): two norms, two dropouts with their residual sums
ACTIVATED = 4, 8  # ... inside the MLP: the activation function
COPIED = 4, 4  # ... of Q, K, V and the attention's result: heads to the front and back
SCORED = 9, 11  # ... of the attention scores: scale, mask and softmax; dropout
PERMUTED = 4  # ... of the rows of tokens: into the order of the experts, and back again
QUANTIZED = 3  # ... of a factor of a product in 8 bits: read in 16, written in 8
EMBEDDED = 12  # ... of (tokens, hidden) in front: words, positions, dropout
LOGITS = 30, 20  # ... of the logits, in 32 bits: maximum, exponentials, sum; and back
STARVE = 4  # how sharply the slower of device and host decides: 1 would add them up


@dataclass(frozen=True)
class Seconds:
    """Of one piece of work on one device.

    matmul, memory: of the device. network: collectives in which the device waits.
    host: until the host has started everything. The host runs ahead of the device, but not
    always far enough: where both take about as long, the device is starved now and then.
    """

    matmul: float = 0.0
    memory: float = 0.0
    network: float = 0.0
    host: float = 0.0

    @property
    def device(self) -> float:
        return self.matmul + self.memory + self.network

    @property
    def total(self) -> float:
        """About the larger of device and host, and more where they are alike."""
        return (self.device**STARVE + self.host**STARVE) ** (1 / STARVE)

    def __add__(self, other: "Seconds") -> "Seconds":
        return Seconds(
            self.matmul + other.matmul,
            self.memory + other.memory,
            self.network + other.network,
            self.host + other.host,
        )

    def __mul__(self, times: float) -> "Seconds":
        return Seconds(
            self.matmul * times, self.memory * times, self.network * times, self.host * times
        )


def layer_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> tuple[Seconds, Seconds]:
    """Forward and backward of one layer and one micro-batch; what is recomputed counts as
    backward."""
    weights, attention, back = products_seconds(model, layout, machine)
    scores = _score_bytes(model, layout)
    moved, moved_back = (_other_bytes(model, layout, i) + scores * SCORED[i] for i in (0, 1))
    away = experts_seconds(model, layout, machine)
    talk = _collectives(model, layout, machine)
    wait = 2 * machine.straggle * (layout.tp - 1)
    forward = Seconds(
        weights + attention,
        machine.memory_seconds(moved),
        talk + away,
        machine.launch * (KERNELS + _expert_kernels(model, layout, 0)) + wait,
    )
    backward = Seconds(
        back,
        machine.memory_seconds(moved_back),
        talk * _exposed(layout) + away,
        machine.launch * (KERNELS_BACK + _expert_kernels(model, layout, 1)) + wait,
    )
    ahead, behind = _context(model, layout, machine, attention, back)
    forward += Seconds(0.0, 0.0, ahead, 0.0)
    backward += Seconds(0.0, 0.0, behind, 0.0)
    if layout.overlap_ep:
        forward, backward = (_beside(one, away, machine.hidden) for one in (forward, backward))
    if layout.recompute == "full":
        backward += forward
    elif layout.recompute == "op":
        backward += _every_second(model, layout, machine, moved, talk)
    elif layout.recompute == "selective" and not layout.flash:
        again = machine.memory_seconds(scores * SCORED[0])
        backward += Seconds(attention, again, 0.0, machine.launch * KERNELS_SCORES)
    return forward, backward


def _every_second(
    model: ModelConfig, layout: Layout, machine: Machine, moved: float, talk: float
) -> Seconds:
    """What recompute="op" does again: see `helpers.cost.activations.kept_products`.

    moved: bytes of the other kernels; talk: seconds of the collectives forward. The gathers in
    front of products run again, reduce-scatters don't.
    """
    again = every_second_seconds(model, layout, machine)
    away = talk / 2 if layout.sequence_parallel else talk
    return Seconds(again, machine.memory_seconds(moved), away, machine.launch * KERNELS)


def _expert_kernels(model: ModelConfig, layout: Layout, way: int) -> float:
    """Kernels that experts add to those of a layer; way: 0 forward, 1 backward."""
    if model.moe is None:
        return 0.0
    return KERNELS_ROUTED[way] + KERNELS_EXPERT[way] * model.moe.experts / layout.ep


def _beside(work: Seconds, away: float, share: float) -> Seconds:
    """The work with its all-to-alls behind what another micro-batch computes in the same time.

    share: of what can hide, by which the work gets shorter (see `Machine.hidden`).
    """
    hidden = share * min(away, work.matmul + work.memory)
    return work + Seconds(network=-hidden)


def _score_bytes(model: ModelConfig, layout: Layout) -> float:
    """How many attention scores the device writes to memory."""
    if layout.flash:
        return 0.0
    return layout.tokens * layout.sequence * model.heads / layout.tp


def _other_bytes(model: ModelConfig, layout: Layout, way: int) -> float:
    """Bytes of all kernels but products and attention scores; way: 0 forward, 1 backward."""
    n, t = layout.tokens, layout.tp
    norms = NORMS[way] * n * model.hidden / (t if layout.sequence_parallel else 1)
    activated = ACTIVATED[way] * n * model.active_intermediate * (1.5 if model.gated else 1) / t
    copied = COPIED[way] * n * _copied(model) / t
    return norms + activated + copied + _expert_bytes(model, layout, way)


def _expert_bytes(model: ModelConfig, layout: Layout, way: int) -> float:
    """Bytes of what experts and products in 8 bits add.

    A token is read once and written k times, by expert; k results are read, and one is written.
    Of a product in 8 bits the input is quantized by rows for the forward pass, and by columns for
    the gradient of the weights; the gradient of its result both ways (arXiv 2412.19437, section
    3.5.2). So 3 bytes forward, and backward 3 and twice 3.
    """
    moved = 0.0
    if model.moe:
        here = layout.tokens * (layout.expert_tp or layout.tp) / layout.tp
        moved = PERMUTED * here * (1 + model.moe.chosen) * model.hidden
    if layout.fp8:
        for rows, columns, inner, count in weight_products(model, layout):
            moved += QUANTIZED * count * rows * (inner + 2 * way * columns)
    return moved


def _copied(model: ModelConfig) -> int:
    """The widths of Q, K, V and the attention's result; latent attention shares no keys."""
    if model.latent is None:
        return 2 * (model.query_width + model.kv_width)
    return 2 * model.heads * sum(head_widths(model))


def _collectives(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """Two all-reduces, or two all-gathers and two reduce-scatters: one way through a layer.

    Experts are cut over `expert_tp` ranks. With sequence parallelism each rank sends its own
    tokens, and what arrives is gathered among them: k rows for a token. Shared experts are cut as
    attention is, and gather one row.
    """
    size, near = 2 * layout.tokens * model.hidden, layout.on_a_node("tp", machine.node)
    if layout.sequence_parallel:
        two, moe = 2 * all_gather_seconds(machine, size, layout.tp, near), model.moe
        if moe is None:
            return 2 * two
        etp = layout.expert_tp or layout.tp
        rows = moe.chosen * etp / layout.tp * size
        own = 2 * all_gather_seconds(machine, rows, etp, min(near, etp))
        return two + own + (two if moe.shared else 0.0)
    return 2 * all_reduce_seconds(machine, size, layout.tp, near)


def _context(
    model: ModelConfig, layout: Layout, machine: Machine, ahead: float, back: float
) -> tuple[float, float]:
    """What the messages of a cut sequence add to attention, forward and backward, in seconds.

    A ring hides them beside the blocks, all but the last of which pass one on. A gather, or an
    all-to-all, comes before anything is computed.
    ahead, back: seconds of the products of attention, and of the whole backward pass.
    """
    p = layout.cp
    sizes = layout.micro_batch, layout.sequence, p, layout.context, layout.tp
    both = context_parallel_bytes(model, *sizes)
    near = layout.on_a_node("cp", machine.node)
    sent = [all_gather_seconds(machine, size * p / max(1, p - 1), p, near) for size in both]
    if layout.context != "ring":
        return sent[0], sent[1]
    beside = (p - 1) / p
    scores = min(back, 2.5 * ahead)  # five products for the two of the forward pass
    return max(0.0, sent[0] - beside * ahead), max(0.0, sent[1] - beside * scores)


def _exposed(layout: Layout) -> float:
    """The share of the backward collectives that no product hides.

    An all-reduce of the gradient of a layer's input needs nothing of the gradients of its weights.
    With sequence parallelism the reduce-scatter is hidden so, the all-gather before it is not.
    """
    if not layout.overlap_tp:
        return 1.0
    return 0.5 if layout.sequence_parallel else 0.0


def embedding_seconds(
    model: ModelConfig, layout: Layout, machine: Machine
) -> tuple[Seconds, Seconds]:
    """Forward and backward of one micro-batch, on the first stage."""
    look_up = machine.memory_seconds(EMBEDDED * layout.tokens * model.hidden)
    host = machine.launch * KERNELS_EMBEDDING
    talk = _talk(model, layout, machine)
    return Seconds(memory=look_up, network=talk, host=host), Seconds(memory=look_up, host=host)


def loss_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> tuple[Seconds, Seconds]:
    """Forward and backward of one micro-batch, on the last stage: logits and cross-entropy."""
    n, h, part = layout.tokens, model.hidden, layout.words(model.vocabulary)
    host, product = machine.launch * KERNELS_LOSS, machine.matmul_seconds
    forward, backward = (machine.memory_seconds(each * n * part) for each in LOGITS)
    return (
        Seconds(product(n, part, h), forward, 0.0, host),
        Seconds(
            product(n, h, part) + product(h, part, n), backward, _talk(model, layout, machine), host
        ),
    )


def _talk(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """One all-reduce of (tokens, hidden): each rank has only a part of the words."""
    size = 2 * layout.tokens * model.hidden
    return all_reduce_seconds(machine, size, layout.tp, layout.on_a_node("tp", machine.node))
