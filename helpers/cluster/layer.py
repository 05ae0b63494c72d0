"""What a layer takes on one device: matrix products, all other kernels, collectives, the host; and
what lies outside of the layers, the word embedding in front and the loss behind.

Matrix products take operations; everything else reads and writes memory, and its bytes are counted
by Megatron-LM's kernels. Experts are taken to be equally busy.
"""

from dataclasses import dataclass
from math import comb

from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine, all_gather_seconds, all_reduce_seconds
from helpers.cost import ModelConfig, context_parallel_bytes
from helpers.cost.config import MoE

# Kernels that the host starts, forward and backward: norms, products, softmax, dropouts, copies.
KERNELS, KERNELS_SCORES = (18, 36), 5
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
# Of the network cards, with kernels that send a token once to a node: 58 and 51 GB/s on 32 and 64
# H800 with cards of 50 GB/s, where a quarter and an eighth of that stays on the node (DeepEP,
# docs/legacy.md at 0297fc8). No run has set it.
DEDUP_SHARE = 0.88


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
    scores = 0.0 if layout.flash else layout.tokens * layout.sequence * model.heads / layout.tp
    moved = [_other_bytes(model, layout, i) + scores * SCORED[i] for i in (0, 1)]
    away, talk = experts_seconds(model, layout, machine), _collectives(model, layout, machine)
    host = [
        machine.launch * (KERNELS[i] + _expert_kernels(model, layout, i))
        + 2 * machine.straggle * (layout.tp - 1)
        for i in (0, 1)
    ]
    ahead, behind = _context(model, layout, machine, attention, back)
    forward = Seconds(
        weights + attention, machine.memory_seconds(moved[0]), talk + away + ahead, host[0]
    )
    sent = talk * _exposed(layout) + away + behind
    backward = Seconds(back, machine.memory_seconds(moved[1]), sent, host[1])
    if layout.overlap_ep:  # behind what another micro-batch computes in the same time
        forward, backward = (
            one + Seconds(network=-machine.hidden * min(away, one.matmul + one.memory))
            for one in (forward, backward)
        )
    if layout.recompute == "full":
        backward += forward
    elif layout.recompute == "op":
        backward += _every_second(model, layout, machine, moved[0], talk)
    elif layout.recompute == "selective" and not layout.flash:
        again = machine.memory_seconds(scores * SCORED[0])
        backward += Seconds(attention, again, 0.0, machine.launch * KERNELS_SCORES)
    return forward, backward


# --- matrix products -----------------------------------------------------------------------------

Product = tuple[float, float, float, float]  # rows, columns, inner dimension, how many


def weight_products(model: ModelConfig, layout: Layout) -> list[Product]:
    """Return the products with weights of one layer, forward, that are on this device.

    The ep x per_expert ranks that share the experts have ep x per_expert / tp batches of n tokens
    between them, each token in k of the E experts.
    """
    found = []
    for matrix in [*model.attention(), *model.mlp()]:
        rows, count, cut = layout.tokens, 1, layout.tp
        if matrix.name == "experts":
            cut, count = layout.per_expert, matrix.held / layout.ep
            rows = layout.tokens * matrix.used * cut / layout.tp / count
        outer = matrix.outer / (cut if matrix.cut == "outer" else 1)
        inner = matrix.inner / (cut if matrix.cut == "inner" else 1)
        found.append((rows, outer, inner, count))
    return found


def products_seconds(
    model: ModelConfig, layout: Layout, machine: Machine
) -> tuple[float, float, float]:
    """Return the seconds of one micro-batch: forward by weights, forward of attention, backward.

    Each product needs two in the backward pass, of the same three dimensions: the gradients of
    its two factors. Fused attention leaves out what the mask hides, half, and computes the scores
    again from Q and K in the backward pass.

    FP8 takes the products with weights `machine.eight` times as fast; attention and the logits
    stay in 16 bits (DeepSeek-V3, arXiv 2412.19437, section 3.3.1).
    """
    weights = _seconds(weight_products(model, layout), layout, machine)
    own = layout.sequence // layout.cp  # queries of a sequence that are here; all keys pass by
    heads = layout.micro_batch * model.heads / layout.tp
    scores = machine.attention_seconds if layout.flash else machine.matmul_seconds
    keys, values = (
        scores(own, layout.sequence, width, heads) for width in (model.key_size, model.value_size)
    )
    backward = 2 * (weights + keys + values) + (keys if layout.flash else 0.0)
    return weights, keys + values, backward


def _seconds(products: list[Product], layout: Layout, machine: Machine) -> float:
    """Of products with weights, which may be in 8 bits."""
    times = machine.eight if layout.fp8 else 1.0
    return sum(machine.matmul_seconds(*one, times) for one in products)


def _every_second(
    model: ModelConfig, layout: Layout, machine: Machine, moved: float, talk: float
) -> Seconds:
    """What recompute="op" does again: see `helpers.cost.activations.kept_products`.

    The output projection, and of a LLaMA the keys and the matrix beside the gate; the gathers in
    front of products, not reduce-scatters. moved: bytes of the other kernels; talk: seconds of the
    collectives forward.
    """
    n, h, t = layout.tokens, model.hidden, layout.tp
    again = [(n, h, model.query_width / t, 1)]
    if model.gated:
        again += [(n, model.kv_width / t, h, 1), (n, model.intermediate / t, h, 1)]
    away = talk / 2 if layout.sequence_parallel else talk
    seconds = _seconds(again, layout, machine)
    return Seconds(seconds, machine.memory_seconds(moved), away, machine.launch * KERNELS[0])


# --- other kernels -------------------------------------------------------------------------------


def _expert_kernels(model: ModelConfig, layout: Layout, way: int) -> float:
    """Kernels that experts add to those of a layer; way: 0 forward, 1 backward."""
    if model.moe is None:
        return 0.0
    return KERNELS_ROUTED[way] + KERNELS_EXPERT[way] * model.moe.experts / layout.ep


def _other_bytes(model: ModelConfig, layout: Layout, way: int) -> float:
    """Bytes of all kernels but products and attention scores; way: 0 forward, 1 backward.

    Of experts: a token is read once and written k times, by expert; k results are read, and one is
    written. Of a product in 8 bits the input is quantized by rows for the forward pass, and by
    columns for the gradient of the weights; the gradient of its result both ways (arXiv 2412.19437,
    section 3.5.2). So 3 bytes forward, and backward 3 and twice 3.
    """
    n, t = layout.tokens, layout.tp
    heads = 2 * (model.query_width + model.kv_width)
    if model.latent:  # it shares no keys
        heads = 2 * model.heads * (model.key_size + model.value_size)
    moved = NORMS[way] * n * model.hidden / (t if layout.sequence_parallel else 1)
    moved += ACTIVATED[way] * n * model.active_intermediate * (1.5 if model.gated else 1) / t
    moved += COPIED[way] * n * heads / t
    if model.moe:
        moved += PERMUTED * n * layout.per_expert / t * (1 + model.moe.chosen) * model.hidden
    if layout.fp8:
        for rows, columns, inner, count in weight_products(model, layout):
            moved += QUANTIZED * count * rows * (inner + 2 * way * columns)
    return moved


# --- collectives ---------------------------------------------------------------------------------


def _collectives(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """Two all-reduces, or two all-gathers and two reduce-scatters: one way through a layer.

    With sequence parallelism each rank sends its own tokens to the experts, and what arrives is
    gathered among the ranks that share one: k rows for a token. Shared experts are cut as attention
    is, and gather one row.
    """
    size, near = 2 * layout.tokens * model.hidden, layout.on_a_node("tp", machine.node)
    if not layout.sequence_parallel:
        return 2 * all_reduce_seconds(machine, size, layout.tp, near)
    two, moe = 2 * all_gather_seconds(machine, size, layout.tp, near), model.moe
    if moe is None:
        return 2 * two
    etp = layout.per_expert
    rows = moe.chosen * etp / layout.tp * size
    own = 2 * all_gather_seconds(machine, rows, etp, min(near, etp))
    return two + own + (two if moe.shared else 0.0)


def _context(
    model: ModelConfig, layout: Layout, machine: Machine, ahead: float, back: float
) -> tuple[float, float]:
    """What the messages of a cut sequence add to attention, forward and backward, in seconds.

    A ring hides them beside the blocks, all but the last of which pass one on. A gather, or an
    all-to-all, comes before anything is computed.
    ahead, back: seconds of the products of attention, and of the whole backward pass.
    """
    p = layout.cp
    if p == 1:
        return 0.0, 0.0
    sizes = layout.micro_batch, layout.sequence, p, layout.context, layout.tp
    near = layout.on_a_node("cp", machine.node)
    sent = [
        all_gather_seconds(machine, size * p / (p - 1), p, near)
        for size in context_parallel_bytes(model, *sizes)
    ]
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


# --- tokens on their way to experts, and back ----------------------------------------------------


def nodes_reached(moe: MoE, nodes: int) -> float:
    """Return how many of `nodes` nodes have experts of one token, on average.

    The experts are spread evenly, and a token's choice is any k of them, as likely as any other;
    with node-limited routing (arXiv 2412.19437, section 2.1.2) any k of those on `moe.nodes` nodes.
    A node has none of them in C(E - E/n, k) of C(E, k) cases.
    """
    tried = min(nodes, moe.nodes or nodes)
    here = moe.experts // nodes
    among = here * tried
    return tried * (1 - comb(among - here, moe.chosen) / comb(among, moe.chosen))


def experts_messages(
    model: ModelConfig, layout: Layout, machine: Machine
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the bytes of one way through a layer: the dispatch, and the results that come back.

    Each as (bytes that stay inside the node, bytes that leave it), of one device. A device sends
    each of its own tokens to k experts. Plain: k (n-1)/R of R ranks are others of the n on its
    node, k (R-n)/R are elsewhere. Once to a node: `nodes_reached`, of which (N-1)/N are others of N
    nodes, and what arrives is passed on, k (n-1)/n times a token, whatever node it comes from.
    """
    moe, ranks = model.moe, layout.ep
    near = layout.on_a_node("ep", machine.node)
    nodes = ranks // near
    tokens = layout.tokens / (layout.tp if layout.sequence_parallel else 1)
    away = moe.chosen * (ranks - near) / ranks
    if layout.dedup and nodes > 1:
        away = nodes_reached(moe, nodes) * (nodes - 1) / nodes
    inside = moe.chosen * (near - 1) / (near if layout.dedup else ranks)
    one = tokens * model.hidden
    return tuple((size * one * inside, size * one * away) for size in (layout.dispatch_bytes, 2))


def experts_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """Return the seconds of one way through a layer, to the experts and back; backward is alike.

    The networks inside a node and between nodes work side by side.
    """
    if model.moe is None or layout.ep == 1:
        return 0.0
    share = DEDUP_SHARE if layout.dedup else machine.between.share
    ways = experts_messages(model, layout, machine)
    return sum(one_way_seconds(machine, stays, leaves, share) for stays, leaves in ways)


def one_way_seconds(
    machine: Machine, stays: float, leaves: float, share: float = DEDUP_SHARE
) -> float:
    """Return the seconds of a dispatch, or of its results.

    stays, leaves: bytes of one device inside the node, and between nodes. share: of the cards'
    bandwidth; by default that of a dispatch that sends a token once to a node.
    """
    near = stays / machine.inside.speed + machine.inside.latency
    if not leaves:
        return near
    return max(near, leaves / (machine.between.bandwidth * share) + machine.between.latency)


# --- outside of the layers -----------------------------------------------------------------------


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
    back = product(n, h, part) + product(h, part, n)
    return (
        Seconds(product(n, part, h), forward, 0.0, host),
        Seconds(back, backward, _talk(model, layout, machine), host),
    )


def _talk(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """One all-reduce of (tokens, hidden): each rank has only a part of the words."""
    size = 2 * layout.tokens * model.hidden
    return all_reduce_seconds(machine, size, layout.tp, layout.on_a_node("tp", machine.node))
