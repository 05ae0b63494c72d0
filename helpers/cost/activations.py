"""The activations that a forward pass keeps for the backward pass, item by item.

Korthikanti et al., "Reducing activation recomputation in large transformer models",
arXiv 2205.05198, section 4: s tokens, b sequences, hidden h, a heads, t ranks of tensor
parallelism; activations of 2 bytes, dropout masks of 1.
"""

from dataclasses import dataclass

from helpers.cost.config import ModelConfig
from helpers.cost.flops import checked_recompute
from helpers.cost.parameters import parameters

BYTES = 2  # fp16 or bf16


@dataclass(frozen=True)
class Kept:
    """A tensor that one layer keeps of one micro-batch: its bytes without any parallelism.

    split: whether tensor parallelism cuts it; sequence parallelism cuts the others. scores: whether
    it grows with s x s; selective recomputation does not keep it. fused: whether a fused kernel
    computes it again instead, as SwiGLU's of Megatron-LM and Liger do with the SiLU.
    """

    name: str
    size: float
    split: bool
    scores: bool = False
    fused: bool = False


def kept_by_layer(model: ModelConfig, batch: int, sequence: int) -> list[Kept]:
    """Return everything that one layer keeps of one micro-batch of `batch` sequences.

    For a GPT-2 these add up to sbh (34 + 5as/h), the paper's equation 1, with dropout. A LLaMA has
    no dropout, and an MLP with three matrices. Of a model with experts: a layer that has them.
    Latent attention keeps what it compresses too, and whole heads of keys and values.
    """
    tokens, inner = batch * sequence, model.active_intermediate
    h, q, kv, v = model.hidden, model.query_width, model.kv_width, model.kv_width
    one = BYTES * tokens
    scores = float(tokens) * sequence * model.heads
    compressed = []
    if latent := model.latent:
        q = kv = model.heads * model.key_size
        v = model.heads * model.value_size
        down = latent.q_rank + latent.kv_rank
        compressed = [
            Kept("compressed queries, keys and values", one * (down + latent.rope), False),
            Kept("the same behind their norms", one * down, False),
        ]
    rows = [
        Kept("input of the first norm", one * h, False),
        Kept("input of Q, K and V", one * h, False),
        *compressed,
        Kept("Q and K", one * (q + kv), True),
        Kept("V", one * v, True),
        Kept("attention after softmax", BYTES * scores, True, True),
        Kept("input of the output projection", one * (v if latent else q), True),
        Kept("input of the second norm", one * h, False),
        Kept("input of the MLP", one * h, False),
    ]
    if model.gated:
        return rows + [
            Kept("gate and up", 2 * one * inner, True),
            Kept("SiLU of the gate", one * inner, True, fused=True),
            Kept("input of the last matrix", one * inner, True),
        ]
    return rows + [
        Kept("mask of the attention's dropout", scores, True, True),
        Kept("attention after dropout", BYTES * scores, True, True),
        Kept("mask of the dropout after attention", tokens * h, False),
        Kept("input of GELU", one * inner, True),
        Kept("input of the last matrix", one * inner, True),
        Kept("mask of the dropout after the MLP", tokens * h, False),
    ]


def kept_products(model: ModelConfig, batch: int, sequence: int) -> list[Kept]:
    """Return what torchtitan's selective checkpointing by "op" keeps of a layer.

    Its policy (`_apply_ac_to_transformer_block` in parallelize_llama.py) saves the result of
    fused attention and of every second product, beginning with the first: of a LLaMA's seven
    those with the queries, the values, the gate and the last matrix. The keys, the output
    projection and the matrix beside the gate are computed again, with all that is no product.
    """
    model.require_usual("what a layer keeps of every second product")
    one = BYTES * batch * sequence
    h, q, kv, inner = model.hidden, model.query_width, model.kv_width, model.intermediate
    rows = [Kept("input of the layer", one * h, False), Kept("Q", one * q, True)]
    if not model.gated:  # Q, K and V are one product, the first of four
        rows += [Kept("K and V", 2 * one * kv, True), Kept("input of GELU", one * inner, True)]
    else:
        rows += [Kept("V", one * kv, True), Kept("gate", one * inner, True)]
        rows += [Kept("output of the MLP", one * h, False)]
    return rows + [Kept("attention's result", one * q, True)]


def layer_activations(
    model: ModelConfig,
    batch: int,
    sequence: int,
    tp: int = 1,
    sequence_parallel: bool = False,
    recompute: str = "none",
    cp: int = 1,
    fused: bool = False,
) -> float:
    """Return the bytes that one rank keeps for one layer and one micro-batch.

    cp: ranks that share the sequence. fused: kernels of attention and SwiGLU that keep neither
    scores nor the SiLU: of a LLaMA 8h + 4q + 4kv + 6i bytes of a token, with the widths of a token,
    the heads, the keys and the MLP.

    For a GPT-2 this is the paper's table 2, in multiples of sbh:
    10 + 24/t + 5as/(ht) with tensor parallelism; (34 + 5as/h)/t with sequence parallelism too;
    34/t with selective recomputation too; 2 with full recomputation (2/t if sequence parallelism
    cuts the layer's input).
    """
    cut = tp if sequence_parallel else 1
    if checked_recompute(recompute) == "full":
        return BYTES * batch * sequence * model.hidden / cut / cp
    rows = (kept_products if recompute == "op" else kept_by_layer)(model, batch, sequence)
    if recompute == "selective" or fused:
        rows = [row for row in rows if not row.scores]
    if fused:
        rows = [row for row in rows if not row.fused]
    return sum(row.size / (tp if row.split else cut) for row in rows) / cp


# --- the forward pass of one layer, step by step --------------------------------------------------

# For each step: the tensors it creates, and those it frees. A tensor whose name ends in "+" is
# needed by the next step only; all others are kept for the backward pass.
STEPS = (
    ("the layer begins", ("its input",), ()),
    ("first norm", ("first norm",), ()),
    ("Q, K and V", ("Q", "K", "V"), ()),
    ("attention scores", ("scores +",), ()),
    ("softmax", ("attention",), ("scores +",)),
    ("attention times V", ("context",), ()),
    ("output projection", ("projection +",), ()),
    ("first residual", ("first sum",), ("projection +",)),
    ("second norm", ("second norm",), ()),
    ("into the MLP", ("gate", "up"), ()),
    ("activation function", ("activated",), ()),
    ("gate times up", ("product",), ()),
    ("out of the MLP", ("MLP's output +",), ()),
    ("second residual", ("output",), ("MLP's output +",)),
)


@dataclass(frozen=True)
class ForwardPeak:
    """Peak memory of one layer's forward pass in training.

    weights: bytes of the layer's parameters. activations: {tensor: bytes} of what is live at the
    peak. moment: the step at whose end the peak occurs; tensors that it frees still count.
    """

    weights: float
    activations: dict[str, float]
    moment: str
    convention: str

    @property
    def total(self) -> float:
        """Total bytes."""
        return self.weights + sum(self.activations.values())


def forward_peak(model: ModelConfig) -> ForwardPeak:
    """Return the peak for one layer and one full sequence in 16 bits: all attention scores, no
    dropout.

    What the backward pass needs is kept, as in training. Gradients and optimizer states are not
    part of a forward pass.
    """
    model.require_usual("the peak of the forward pass")
    width = dict.fromkeys((name for _, makes, _ in STEPS for name in makes), model.hidden)
    width |= dict.fromkeys(("gate", "up", "activated", "product"), model.active_intermediate)
    width |= {"Q": model.query_width, "K": model.kv_width, "V": model.kv_width}
    width |= {"context": model.query_width}
    width |= dict.fromkeys(("scores +", "attention"), model.heads * model.positions)
    if not model.gated:  # a GPT-2 activates `up` itself
        del width["gate"], width["product"]
    live, most, moment = {}, {}, ""
    for step, makes, frees in STEPS:
        live |= {n: float(BYTES * model.positions * width[n]) for n in makes if n in width}
        if sum(live.values()) > sum(most.values()):
            most, moment = dict(live), step
        for name in frees:
            del live[name]
    words = (
        f"batch 1, sequence {model.positions}, 2 bytes a value, all s x s attention scores, "
        "tensors that the backward pass needs are kept"
    )
    named = {name.removesuffix(" +"): size for name, size in most.items()}
    return ForwardPeak(BYTES * parameters(model).layer, named, moment, words)
