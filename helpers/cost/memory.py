"""Bytes that training keeps: states of parameters (and ZeRO), and activations.

Activations: Korthikanti et al., "Reducing activation recomputation in large transformer models",
arXiv 2205.05198, section 4: s tokens, b sequences, hidden h, a heads, t ranks of tensor
parallelism; activations of 2 bytes, dropout masks of 1.
"""

from dataclasses import dataclass

from helpers.cost.flops import RECOMPUTE
from helpers.cost.model import ModelConfig, one_of, parameters

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
ZERO = (0, 1, 2, 3)  # its stages; 0 is off


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
    """
    if ranks < 1 or parameters < 0:
        words = f"{parameters} parameters on {ranks} ranks"
        raise ValueError(f"{words}: give 0 or more parameters, 1 or more ranks")
    sizes = PRECISIONS[one_of(PRECISIONS, precision, "precision")]
    cut = [ranks if one_of(ZERO, zero, "zero") >= stage else 1 for stage in (3, 2, 1)]
    words = f"{precision}: {' + '.join(map(str, sizes))} bytes a parameter"
    if zero:
        words += f"; ZeRO stage {zero} over {ranks} ranks"
    return States(*(size * parameters / n for size, n in zip(sizes, cut, strict=True)), words)


# --- activations, item by item -------------------------------------------------------------------


@dataclass(frozen=True)
class Kept:
    """A tensor that one layer keeps of one micro-batch."""

    name: str
    size: float  # bytes without any parallelism
    split: bool  # tensor parallelism cuts it; sequence parallelism cuts the others
    scores: bool = False  # it grows with s x s; selective recomputation does not keep it
    fused: bool = False  # a fused kernel computes it again, as SwiGLU's of Megatron-LM and Liger do


def kept_by_layer(model: ModelConfig, batch: int, sequence: int) -> list[Kept]:
    """Return everything that one layer keeps of one micro-batch of `batch` sequences.

    For a GPT-2 these add up to sbh (34 + 5as/h), the paper's equation 1, with dropout, which a
    LLaMA lacks. Latent attention keeps what it compresses too, and whole heads of keys and values.
    """
    tokens, h, latent = batch * sequence, model.hidden, model.latent
    one, scores = BYTES * tokens, float(tokens) * sequence * model.heads
    inner, values = one * model.active_intermediate, model.heads * model.value_size
    keys = model.heads * model.key_size if latent else model.kv_width
    rows = [
        Kept("input of the first norm", one * h, False),
        Kept("input of Q, K and V", one * h, False),
    ]
    if latent:
        down = latent.q_rank + latent.kv_rank
        rows += [
            Kept("compressed queries, keys and values", one * (down + latent.rope), False),
            Kept("the same behind their norms", one * down, False),
        ]
    rows += [
        Kept("Q and K", one * (model.heads * model.key_size + keys), True),
        Kept("V", one * (values if latent else keys), True),
        Kept("attention after softmax", BYTES * scores, True, scores=True),
        Kept("input of the output projection", one * values, True),
        Kept("input of the second norm", one * h, False),
        Kept("input of the MLP", one * h, False),
    ]
    if model.gated:
        return rows + [
            Kept("gate and up", 2 * inner, True),
            Kept("SiLU of the gate", inner, True, fused=True),
            Kept("input of the last matrix", inner, True),
        ]
    return rows + [
        Kept("mask of the attention's dropout", scores, True, scores=True),
        Kept("attention after dropout", BYTES * scores, True, scores=True),
        Kept("mask of the dropout after attention", tokens * h, False),
        Kept("input of GELU", inner, True),
        Kept("input of the last matrix", inner, True),
        Kept("mask of the dropout after the MLP", tokens * h, False),
    ]


def kept_by_second_product(model: ModelConfig, batch: int, sequence: int) -> list[Kept]:
    """Return what recompute="op" keeps: the layer's input, fused attention's result, and those
    products that `ModelConfig.second_products` leaves out."""
    model.second_products()  # refuses a layer of another kind
    one, q, h = BYTES * batch * sequence, model.query_width, model.hidden
    names = {"input of the layer": h, "output of the MLP": h}
    cut = {"Q": q, "V": model.kv_width, "gate": model.intermediate, "attention's result": q}
    whole = [Kept(name, one * width, False) for name, width in names.items()]
    return whole + [Kept(name, one * width, True) for name, width in cut.items()]


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
    the heads, the keys and the MLP. For a GPT-2 this is the paper's table 2, in multiples of sbh:
    10 + 24/t + 5as/(ht) with tensor parallelism; (34 + 5as/h)/t with sequence parallelism too; 34/t
    with selective recomputation too; 2 with full recomputation, or 2/t.
    """
    cut = tp if sequence_parallel else 1
    if one_of(RECOMPUTE, recompute, "recompute") == "full":
        return BYTES * batch * sequence * model.hidden / cut / cp
    of_layer = kept_by_second_product if recompute == "op" else kept_by_layer
    rows = [
        row
        for row in of_layer(model, batch, sequence)
        if not (row.scores and (recompute == "selective" or fused)) and not (row.fused and fused)
    ]
    return sum(row.size / (tp if row.split else cut) for row in rows) / cp


@dataclass(frozen=True)
class ForwardPeak:
    """Of one layer, in bytes."""

    weights: float
    activations: dict[str, float]  # {tensor: bytes} of what is live at the peak
    moment: str  # the step at whose end that is, where tensors that it frees still count
    convention: str

    @property
    def total(self) -> float:
        return self.weights + sum(self.activations.values())


def forward_peak(model: ModelConfig) -> ForwardPeak:
    """Return the peak memory of one layer's forward pass over one full sequence in 16 bits.

    What the backward pass needs is kept, as in training, so memory grows until the end of the
    layer; only the scores before softmax go in between. So the peak is at softmax or at the end.
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
    words = f"batch 1, sequence {model.positions}, 2 bytes a value, all s x s attention scores, "
    words += "tensors that the backward pass needs are kept"
    live = {name: float(BYTES * model.positions * w) for name, w in moments[moment].items()}
    return ForwardPeak(BYTES * parameters(model).layer, live, moment, words)
