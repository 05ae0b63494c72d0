"""The activations that a forward pass keeps for the backward pass, item by item.

Korthikanti et al., "Reducing activation recomputation in large transformer models",
arXiv 2205.05198, section 4: s tokens, b sequences, hidden h, a heads, t ranks of tensor
parallelism; activations of 2 bytes, dropout masks of 1.
"""

from dataclasses import dataclass

from helpers.cost.config import ModelConfig
from helpers.cost.flops import checked_recompute

BYTES = 2  # fp16 or bf16


@dataclass(frozen=True)
class Kept:
    """A tensor that one layer keeps of one micro-batch.

    size: bytes on one device without any parallelism.
    split: whether tensor parallelism cuts it; sequence parallelism cuts the others.
    scores: whether it grows with s x s; selective recomputation does not keep it.
    fused: whether a fused kernel computes it again instead: the SiLU inside SwiGLU's, as those of
        Megatron-LM, Transformer Engine and Liger do.
    """

    name: str
    size: float
    split: bool
    scores: bool = False
    fused: bool = False


def kept_by_layer(model: ModelConfig, batch: int, sequence: int) -> list[Kept]:
    """Return everything that one layer keeps of one micro-batch of `batch` sequences.

    For a GPT-2 these add up to sbh (34 + 5as/h), the paper's equation 1, with dropout. A LLaMA has
    no dropout, and an MLP with three matrices.
    """
    model.require_alike("what a layer keeps")
    tokens, inner = batch * sequence, model.active_intermediate
    h, q, kv = model.hidden, model.query_width, model.kv_width
    one = BYTES * tokens
    scores = float(tokens) * sequence * model.heads
    rows = [
        Kept("input of the first norm", one * h, False),
        Kept("input of Q, K and V", one * h, False),
        Kept("Q and K", one * (q + kv), True),
        Kept("V", one * kv, True),
        Kept("attention after softmax", BYTES * scores, True, True),
        Kept("input of the output projection", one * q, True),
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
    model.require_alike("what a layer keeps")
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

    cp: ranks that share the sequence; each has its own queries, and keeps their part of all.
    fused: kernels of attention and SwiGLU that keep neither scores nor the SiLU. With h, q, kv and
        i the widths of a token, the heads, the keys and the MLP, a LLaMA keeps 8h + 4q + 4kv + 6i
        bytes of a token: of Llama 3 405B 31.75 h, in place of 38.25 h.

    For a GPT-2 this is the paper's table 2, in multiples of sbh:
    10 + 24/t + 5as/(ht) with tensor parallelism; (34 + 5as/h)/t with sequence parallelism too;
    34/t with selective recomputation too; 2 with full recomputation (the layer's input; 2/t if
    sequence parallelism cuts it).
    """
    checked_recompute(recompute)
    cut = tp if sequence_parallel else 1
    if recompute == "full":
        return BYTES * batch * sequence * model.hidden / cut / cp
    if recompute == "op":
        rows = kept_products(model, batch, sequence)
    else:
        rows = kept_by_layer(model, batch, sequence)
    if recompute == "selective" or fused:
        rows = [row for row in rows if not row.scores]
    if fused:
        rows = [row for row in rows if not row.fused]
    return sum(row.size / (tp if row.split else cut) for row in rows) / cp
