"""What a layer takes on one device: matrix products, all other kernels, collectives, the host; and
what lies outside of the layers, the word embedding in front and the loss behind.

Matrix products take operations; everything else reads and writes memory, and its bytes are counted
by Megatron-LM's kernels.
"""

from dataclasses import dataclass

from helpers.cluster.experts import experts_seconds
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine, all_gather_seconds, all_reduce_seconds
from helpers.cost import ModelConfig, context_parallel_bytes

# Kernels that the host starts, forward and backward: norms, products, softmax, dropouts, copies.
KERNELS, KERNELS_BACK, KERNELS_SCORES = 18, 36, 5
KERNELS_EMBEDDING, KERNELS_LOSS = 6, 12
# Bytes read and written, forward and backward, for each value ...
NORMS = 22, 42  # ... of (tokens, hidden): two norms, two dropouts with their residual sums
ACTIVATED = 4, 8  # ... inside the MLP: the activation function
COPIED = 4, 4  # ... of Q, K, V and the attention's result: heads to the front and back
SCORED = 9, 11  # ... of the attention scores: scale, mask and softmax; dropout
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
    (go, back), scores = _products(model, layout, machine), _score_bytes(model, layout)
    moved, moved_back = (_other_bytes(model, layout, i) + scores * SCORED[i] for i in (0, 1))
    away = experts_seconds(model, layout, machine)
    talk = _collectives(model, layout, machine)
    wait = 2 * machine.straggle * (layout.tp - 1)
    forward = Seconds(
        sum(go), machine.memory_seconds(moved), talk + away, machine.launch * KERNELS + wait
    )
    backward = Seconds(
        back,
        machine.memory_seconds(moved_back),
        talk * _exposed(layout) + away,
        machine.launch * KERNELS_BACK + wait,
    )
    ahead, behind = _context(model, layout, machine, go[1] + go[2], back)
    forward += Seconds(0.0, 0.0, ahead, 0.0)
    backward += Seconds(0.0, 0.0, behind, 0.0)
    if layout.overlap_ep:
        forward, backward = _beside(forward, away), _beside(backward, away)
    if layout.recompute == "full":
        backward += forward
    elif layout.recompute == "op":
        backward += _every_second(model, layout, machine, go[3], moved, talk)
    elif layout.recompute == "selective" and not layout.flash:
        again = machine.memory_seconds(scores * SCORED[0])
        backward += Seconds(go[1] + go[2], again, 0.0, machine.launch * KERNELS_SCORES)
    return forward, backward


def _products(model: ModelConfig, layout: Layout, machine: Machine) -> tuple[list[float], float]:
    """Forward: Q K V, scores, times V, output projection, MLP. Backward: the sum.

    Each product of the forward pass needs two in the backward pass, of the same three dimensions.
    """
    n, t, s = layout.tokens, layout.tp, layout.sequence
    own = s // layout.cp  # queries of a sequence that are here; of the keys, all pass by
    h, d = model.hidden, model.head_size
    wide, query = (model.query_width + 2 * model.kv_width) / t, model.query_width / t
    heads = layout.micro_batch * model.heads / t
    masked = 0.5 if layout.flash else 1.0  # what the mask hides, fused attention leaves out
    product = machine.matmul_seconds
    ways, mlps = 2 if model.gated else 1, _mlps(model, layout)
    forward = [
        product(n, wide, h),
        masked * product(own, s, d, heads),
        masked * product(own, d, s, heads),
        product(n, h, query),
        sum(product(r, ways * w, h, c) + product(r, h, w, c) for r, w, c in mlps),
    ]
    backward = (
        product(n, h, wide)
        + product(h, wide, n)
        + masked * (product(own, s, d, heads) + 3 * product(own, d, s, heads))
        + product(n, query, h)
        + product(query, h, n)
    )
    for r, w, c in mlps:
        backward += product(r, h, ways * w, c) + product(h, ways * w, r, c)
        backward += product(r, w, h, c) + product(w, h, r, c)
    if layout.flash:  # it computes the scores again from Q and K
        backward += forward[1]
    return forward, backward


def _every_second(
    model: ModelConfig,
    layout: Layout,
    machine: Machine,
    projection: float,
    moved: float,
    talk: float,
) -> Seconds:
    """What recompute="op" does again: see `helpers.cost.activations.kept_products`.

    projection: seconds of the output projection; moved: bytes of the other kernels; talk: seconds
    of the collectives forward. The gathers in front of products run again, reduce-scatters don't.
    """
    n, t, product = layout.tokens, layout.tp, machine.matmul_seconds
    again = projection
    if model.gated:
        again += product(n, model.kv_width / t, model.hidden)
        again += product(n, model.intermediate / t, model.hidden)
    away = talk / 2 if layout.sequence_parallel else talk
    return Seconds(again, machine.memory_seconds(moved), away, machine.launch * KERNELS)


def _mlps(model: ModelConfig, layout: Layout) -> list[tuple[float, float, float]]:
    """The MLPs of a layer that are on this device: (rows of each, width of each, how many).

    Experts are taken to be equally busy.
    """
    n, t, moe = layout.tokens, layout.tp, model.moe
    if moe is None:
        return [(n, model.intermediate / t, 1)]
    here = moe.experts / layout.ep
    own = (n * moe.chosen / here, moe.intermediate / t, here)
    return [own, (n, moe.shared * moe.intermediate / t, 1)] if moe.shared else [own]


def _beside(work: Seconds, away: float) -> Seconds:
    """The work with its all-to-alls behind what another micro-batch computes in the same time."""
    hidden = min(away, work.matmul + work.memory)
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
    copied = COPIED[way] * n * 2 * (model.query_width + model.kv_width) / t
    return norms + activated + copied


def _collectives(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """Two all-reduces, or two all-gathers and two reduce-scatters: one way through a layer.

    Experts are cut over the tensor-parallel ranks too. With sequence parallelism each rank sends
    its own tokens, and what arrives is gathered: k rows for a token, and one more for shared ones.
    """
    size, near = 2 * layout.tokens * model.hidden, layout.on_a_node("tp", machine.node)
    if layout.sequence_parallel:
        rows = model.moe.chosen + (model.moe.shared > 0) if model.moe else 1
        two = 2 * all_gather_seconds(machine, size, layout.tp, near)
        return two + 2 * all_gather_seconds(machine, rows * size, layout.tp, near)
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
