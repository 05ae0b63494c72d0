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
    """

    name: str
    size: float
    split: bool
    scores: bool = False


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
            Kept("SiLU of the gate", one * inner, True),
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


def layer_activations(
    model: ModelConfig,
    batch: int,
    sequence: int,
    tp: int = 1,
    sequence_parallel: bool = False,
    recompute: str = "none",
    cp: int = 1,
) -> float:
    """Return the bytes that one rank keeps for one layer and one micro-batch.

    cp: ranks that share the sequence; each has its own queries, and keeps their part of all.

    For a GPT-2 this is the paper's table 2, in multiples of sbh:
    10 + 24/t + 5as/(ht) with tensor parallelism; (34 + 5as/h)/t with sequence parallelism too;
    34/t with selective recomputation too; 2 with full recomputation (the layer's input; 2/t if
    sequence parallelism cuts it).
    """
    checked_recompute(recompute)
    cut = tp if sequence_parallel else 1
    if recompute == "full":
        return BYTES * batch * sequence * model.hidden / cut / cp
    rows = kept_by_layer(model, batch, sequence)
    if recompute == "selective":
        rows = [row for row in rows if not row.scores]
    return sum(row.size / (tp if row.split else cut) for row in rows) / cp
