"""Bytes that training keeps: states of parameters (and ZeRO), and activations.

Activations: Korthikanti et al., "Reducing activation recomputation in large transformer models",
arXiv 2205.05198, section 4: s tokens, b sequences, hidden h, a heads, t ranks of tensor
parallelism; activations of 2 bytes, dropout masks of 1.
"""

from dataclasses import dataclass

from helpers.cost.flops import checked_recompute
from helpers.cost.model import ModelConfig, parameters

BYTES = 2  # fp16 or bf16
# Bytes of a weight, its gradient, and its optimizer states. Adam's 12 are a copy of the weight, its
# mean and its variance, in 32 bits each.
PRECISIONS = {
    "mixed": (2, 2, 12),  # ZeRO, arXiv 1910.02054, section 3.1
    "mixed, fp32 gradients": (2, 4, 12),  # Megatron-LM: 18 bytes
    "fp32": (4, 4, 8),
    "fp32 SGD": (4, 4, 0),
    "fp32 SGD with momentum": (4, 4, 4),
}


@dataclass(frozen=True)
class States:
    """Bytes on one rank."""

    weights: float
    gradients: float
    optimizer: float
    convention: str = ""

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer


def states(parameters: float, precision: str = "mixed", zero: int = 0, ranks: int = 1) -> States:
    """Return what one of `ranks` data-parallel ranks keeps of a model.

    Rajbhandari et al., "ZeRO", arXiv 1910.02054, table 1: with P parameters and N ranks, mixed
    precision, 16P; 4P + 12P/N (stage 1 cuts the optimizer's state); 2P + 14P/N (stage 2, and the
    gradients); 16P/N (stage 3, and the weights).

    Raises:
        ValueError: for an unknown precision or stage.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision={precision!r}: choose one of {', '.join(PRECISIONS)}")
    if ranks < 1 or parameters < 0:
        raise ValueError(
            f"{parameters} parameters on {ranks} ranks: give 0 or more parameters, 1 or more ranks"
        )
    sizes = PRECISIONS[precision]
    cut = [ranks if checked_zero(zero) >= stage else 1 for stage in (3, 2, 1)]
    words = f"{precision}: {' + '.join(map(str, sizes))} bytes a parameter"
    if zero:
        words += f"; ZeRO stage {zero} over {ranks} ranks"
    return States(*(size * parameters / n for size, n in zip(sizes, cut, strict=True)), words)


def checked_zero(zero: int) -> int:
    """Return the stage unchanged; raise ValueError if ZeRO has no such stage."""
    if zero not in (0, 1, 2, 3):
        raise ValueError(f"zero={zero!r}: the stages are 0 (off), 1, 2 and 3")
    return zero


# --- activations, item by item -------------------------------------------------------------------


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
    rows = [
        row
        for row in kept_by_layer(model, batch, sequence)
        if not (row.scores and (recompute == "selective" or fused)) and not (row.fused and fused)
    ]
    return sum(row.size / (tp if row.split else cut) for row in rows) / cp


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

    What the backward pass needs is kept, as in training, so memory grows until the end of the
    layer; only the scores before softmax go in between. So the peak is at softmax or at the end.
    Gradients and optimizer states are not part of a forward pass.
    """
    model.require_usual("the peak of the forward pass")
    h, kv, scores = model.hidden, model.kv_width, model.heads * model.positions
    begin = {"its input": h, "first norm": h, "Q": model.query_width, "K": kv, "V": kv}
    begin |= {"attention": scores}
    inner = ("gate", "up", "activated", "product") if model.gated else ("up", "activated")
    end = begin | {"context": model.query_width, "first sum": h, "second norm": h}
    end |= dict.fromkeys(inner, model.active_intermediate) | {"MLP's output": h, "output": h}
    moments = {"softmax": begin | {"scores": scores}, "second residual": end}
    moment = max(moments, key=lambda name: sum(moments[name].values()))
    words = (
        f"batch 1, sequence {model.positions}, 2 bytes a value, all s x s attention scores, "
        "tensors that the backward pass needs are kept"
    )
    live = {name: float(BYTES * model.positions * w) for name, w in moments[moment].items()}
    return ForwardPeak(BYTES * parameters(model).layer, live, moment, words)
