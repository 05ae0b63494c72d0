"""What a layer takes on one device: matrix products, all other kernels, collectives, the host; and
the loss behind the last layer. The word embedding in front takes hardly anything.

Matrix products take operations; everything else reads and writes memory, and its bytes are counted
by Megatron-LM's kernels. Experts are taken to be equally busy.
"""

from math import comb
from typing import NamedTuple

from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine, all_gather_seconds
from helpers.cost import ModelConfig, MoE, context_parallel_bytes
from helpers.cost.model import Matrix

# Kernels that the host starts, forward and backward: norms, products, softmax, dropouts, copies; of
# experts: router, top-k, order, permutation, dispatch, and back; and the products of each expert.
KERNELS, KERNELS_ROUTED, KERNELS_EXPERT = (18, 36), (10, 20), (2, 4)
KERNELS_SCORES, KERNELS_LOSS = 5, 12
# Bytes read and written, forward and backward, for each value ...
NORMS = 22, 42  # ... of (tokens, hidden): two norms, two dropouts with their residual sums
ACTIVATED = 4, 8  # ... inside the MLP: the activation function
COPIED = 4  # ... of Q, K, V and the attention's result: heads to the front and back
SCORED = 9, 11  # ... of the attention scores: scale, mask and softmax; dropout
PERMUTED = 4  # ... of the rows of tokens: into the order of the experts, and back again
QUANTIZED = 3  # ... of a factor of a product in 8 bits: read in 16, written in 8
LOGITS = 30, 20  # ... of the logits, in 32 bits: maximum, exponentials, sum; and back
STARVE = 4  # how sharply the slower of device and host decides: 1 would add them up
# Of the network cards, with kernels that send a token once to a node: 58 and 51 GB/s on 32 and 64
# H800 with cards of 50 GB/s, where a quarter and an eighth of that stays on the node (DeepEP,
# docs/legacy.md at 0297fc8). No run has set it.
DEDUP_SHARE = 0.88


class Seconds(NamedTuple):
    """Of one piece of work on one device."""

    matmul: float = 0.0
    memory: float = 0.0
    network: float = 0.0  # collectives in which the device waits
    # Until the host has started everything. It runs ahead of the device, but not always far enough:
    # where both take about as long, the device is starved now and then.
    host: float = 0.0

    @property
    def device(self) -> float:
        return self.matmul + self.memory + self.network

    @property
    def total(self) -> float:
        """About the larger of device and host, and more where they are alike."""
        return (self.device**STARVE + self.host**STARVE) ** (1 / STARVE)

    def __add__(self, other: "Seconds") -> "Seconds":
        return Seconds(*(a + b for a, b in zip(self, other, strict=True)))

    def __mul__(self, times: float) -> "Seconds":
        return Seconds(*(each * times for each in self))


def layer_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> tuple[Seconds, Seconds]:
    """Forward and backward of one layer and one micro-batch; what is recomputed counts as
    backward."""
    weights, attention, back = products_seconds(model, layout, machine)
    scores = 0.0 if layout.flash else layout.tokens * layout.sequence * model.heads / layout.tp
    computed, away = (weights + attention, back), experts_seconds(model, layout, machine)
    talk, cut = _tensor(model, layout, machine), _context(model, layout, machine, attention, back)
    ways = []
    for i in (0, 1):
        moved = machine.memory_seconds(_other_bytes(model, layout, i) + scores * SCORED[i])
        network = talk[i] + away + cut[i]
        if layout.overlap_ep:  # behind what another micro-batch computes in the same time
            network -= machine.hidden * min(away, computed[i] + moved)
        kernels = KERNELS[i]
        if model.moe:
            experts = model.expert_layers / model.layers * model.moe.experts / layout.ep
            kernels += KERNELS_ROUTED[i] + KERNELS_EXPERT[i] * experts
        host = 2 * machine.straggle * (layout.tp - 1) + machine.launch * kernels
        ways.append(Seconds(computed[i], moved, network, host))
    forward, backward = ways
    if layout.recompute == "full":
        backward += forward
    elif layout.recompute == "op":  # gathers in front of products run again, reduce-scatters don't
        products = [cut_product(m, layout.tokens, layout.tp) for m in model.second_products()]
        times = machine.eight if layout.fp8 else 1.0
        again = sum(machine.matmul_seconds(*one, times=times) for one in products)
        moved = machine.memory_seconds(_other_bytes(model, layout, 0))
        away = talk[0] / 2 if layout.sequence_parallel else talk[0]
        backward += Seconds(again, moved, away, machine.launch * KERNELS[0])
    elif layout.recompute == "selective" and not layout.flash:
        again = machine.memory_seconds(scores * SCORED[0])
        backward += Seconds(attention, again, 0.0, machine.launch * KERNELS_SCORES)
    return forward, backward


def loss_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> tuple[Seconds, Seconds]:
    """Forward and backward of one micro-batch, on the last stage: logits and cross-entropy."""
    n, h, part = layout.tokens, model.hidden, model.vocabulary / layout.tp
    host, product = machine.launch * KERNELS_LOSS, machine.matmul_seconds
    forward, backward = (machine.memory_seconds(each * n * part) for each in LOGITS)
    back = product(n, h, part) + product(h, part, n)
    return Seconds(product(n, part, h), forward, 0.0, host), Seconds(back, backward, 0.0, host)


# --- matrix products and other kernels -----------------------------------------------------------


def weight_products(model: ModelConfig, layout: Layout) -> list[tuple]:
    """Return the products with weights of one layer, forward, that are on this device: rows,
    columns, inner dimension, how many. Each kind of MLP counts by its share of the layers.

    The ep x per_expert ranks that share the experts have ep x per_expert / tp batches of n tokens
    between them, each token in k of the E experts.
    """
    share, products = model.expert_layers / model.layers, []
    found = [(matrix, 1.0) for matrix in model.attention()]
    found += [(matrix, share) for matrix in model.mlp() if share]
    found += [(matrix, 1.0 - share) for matrix in model.mlp(dense=True) if share < 1]
    for matrix, times in found:
        rows, count, cut = layout.tokens, 1, layout.tp
        if matrix.name == "experts":
            cut, count = layout.per_expert, matrix.held / layout.ep
            rows = layout.tokens * matrix.used * cut / layout.tp / count
        products.append((*cut_product(matrix, rows, cut), count * times))
    return products


def cut_product(matrix: Matrix, rows: float, cut: int) -> tuple[float, float, float]:
    """Return its rows, columns and inner dimension on one of `cut` tensor-parallel ranks."""
    outer = matrix.outer / (cut if matrix.cut == "outer" else 1)
    return rows, outer, matrix.inner / (cut if matrix.cut == "inner" else 1)


def products_seconds(
    model: ModelConfig, layout: Layout, machine: Machine
) -> tuple[float, float, float]:
    """Return the seconds of one micro-batch: forward by weights, forward of attention, backward.

    Each product needs two in the backward pass, of the same three dimensions: the gradients of
    its two factors. Fused attention leaves out what the mask hides, half, and computes the scores
    again from Q and K in the backward pass. FP8 takes the products with weights `machine.eight`
    times as fast; attention and the logits stay in 16 bits (arXiv 2412.19437, section 3.3.1).
    """
    times = machine.eight if layout.fp8 else 1.0
    products = weight_products(model, layout)
    weights = sum(machine.matmul_seconds(*one, times) for one in products)
    own = layout.sequence // layout.cp  # queries of a sequence that are here; all keys pass by
    heads = layout.micro_batch * model.heads / layout.tp
    product = machine.attention_seconds if layout.flash else machine.matmul_seconds
    scores = product(own, layout.sequence, model.key_size, heads)
    values = product(own, layout.sequence, model.value_size, heads)
    backward = 2 * (weights + scores + values) + (scores if layout.flash else 0.0)
    return weights, scores + values, backward


def _other_bytes(model: ModelConfig, layout: Layout, way: int) -> float:
    """Bytes of all kernels but products and attention scores; way: 0 forward, 1 backward.

    Of experts: a token is read once and written k times, by expert; k results are read, and one is
    written. Of a product in 8 bits the input is quantized by rows for the forward pass, and by
    columns for the gradient of the weights; the gradient of its result both ways (arXiv 2412.19437,
    section 3.5.2). So 3 bytes forward, and backward 3 and twice 3.
    """
    n, t, share = layout.tokens, layout.tp, model.expert_layers / model.layers
    kv_heads = model.heads if model.latent else model.kv_heads  # latent attention shares none
    heads = (model.heads + kv_heads) * (model.key_size + model.value_size)
    inner = share * model.active_intermediate + (1 - share) * model.intermediate
    moved = NORMS[way] * n * model.hidden / (t if layout.sequence_parallel else 1)
    moved += ACTIVATED[way] * n * inner * (1.5 if model.gated else 1) / t
    moved += COPIED * n * heads / t
    if model.moe:
        moved += PERMUTED * n * layout.per_expert / t * (1 + model.moe.chosen) * model.hidden
    if layout.fp8:
        for rows, columns, inner, count in weight_products(model, layout):
            moved += QUANTIZED * count * rows * (inner + 2 * way * columns)
    return moved


# --- collectives ---------------------------------------------------------------------------------


def _tensor(model: ModelConfig, layout: Layout, machine: Machine) -> tuple[float, float]:
    """Two all-reduces, or two all-gathers and two reduce-scatters; then what backward shows of it.

    With sequence parallelism each rank sends its own tokens to whole experts, so only attention and
    shared experts gather and scatter. An all-reduce of the gradient of a layer's input needs
    nothing of the gradients of its weights, so `overlap_tp` hides it; of sequence parallelism the
    reduce-scatter is hidden so, and the all-gather before it is not.
    """
    size, near = 2 * layout.tokens * model.hidden, layout.on_a_node("tp", machine.node)
    alone = model.moe and layout.sequence_parallel and not model.moe.shared
    sent = all_gather_seconds(machine, size, layout.tp, near) * (2 if alone else 4)
    if not layout.overlap_tp:
        return sent, sent
    return sent, sent / 2 if layout.sequence_parallel else 0.0


def _context(
    model: ModelConfig, layout: Layout, machine: Machine, ahead: float, back: float
) -> tuple[float, float]:
    """What the messages of a cut sequence add to attention, forward and backward, in seconds.

    A ring hides them beside the blocks, all but the last of which pass one on; others come before
    anything is computed. ahead, back: seconds of attention's products, of the backward pass.
    """
    p, near = layout.cp, layout.on_a_node("cp", machine.node)
    if p == 1:
        return 0.0, 0.0
    sizes = layout.micro_batch, layout.sequence, p, layout.context, layout.tp
    beside = (p - 1) / p if layout.context == "ring" else 0.0
    forward, backward = (
        all_gather_seconds(machine, size * p / (p - 1), p, near)
        for size in context_parallel_bytes(model, *sizes)
    )
    scores = min(back, 2.5 * ahead)  # five products for the two of the forward pass
    return max(0.0, forward - beside * ahead), max(0.0, backward - beside * scores)


# --- tokens on their way to experts, and back ----------------------------------------------------


def nodes_reached(moe: MoE, nodes: int) -> float:
    """Return how many of `nodes` nodes have experts of one token, on average.

    The experts are spread evenly, and a token's choice is any k of them, as likely as any other;
    with node-limited routing (arXiv 2412.19437, section 2.1.2) any k of those on `moe.nodes` nodes.
    A node has none of them in C(E - E/n, k) of C(E, k) cases.
    """
    tried, here = min(nodes, moe.nodes or nodes), moe.experts // nodes
    among = here * tried
    return tried * (1 - comb(among - here, moe.chosen) / comb(among, moe.chosen))


def experts_messages(model: ModelConfig, layout: Layout, machine: Machine) -> tuple[float, float]:
    """Return the bytes that one device sends to experts in a layer: inside its node, and beyond.

    In 16 bits. Each of its own tokens goes to k experts, and as many come back. Plain: k (n-1)/R
    of R ranks are others of the n on its node, k (R-n)/R are elsewhere. Once to a node:
    `nodes_reached`, of which (N-1)/N are others of N nodes, and what arrives is passed on,
    k (n-1)/n times a token, whatever node it comes from.
    """
    moe, ranks = model.moe, layout.ep
    near = layout.on_a_node("ep", machine.node)
    nodes = ranks // near
    size = 2 * layout.tokens / layout.tp * layout.per_expert * model.hidden
    away = moe.chosen * (ranks - near) / ranks
    if layout.dedup and nodes > 1:
        away = nodes_reached(moe, nodes) * (nodes - 1) / nodes
    return size * moe.chosen * (near - 1) / (near if layout.dedup else ranks), size * away


def experts_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """Return the seconds of one way through a layer, to the experts and back; backward is alike.
    The networks inside a node and between nodes work side by side."""
    if model.moe is None or layout.ep == 1:
        return 0.0
    stays, leaves = experts_messages(model, layout, machine)
    share, seconds = DEDUP_SHARE if layout.dedup else machine.between.share, 0.0
    for bytes_of_value in (layout.dispatch_bytes, 2):
        longest = bytes_of_value / 2 * stays / machine.inside.speed + machine.inside.latency
        if leaves:
            far = bytes_of_value / 2 * leaves / (machine.between.bandwidth * share)
            longest = max(longest, far + machine.between.latency)
        seconds += longest
    return seconds * model.expert_layers / model.layers
