"""How many numbers a model has to learn, part by part."""

from dataclasses import dataclass

from helpers.cost.config import ModelConfig


@dataclass(frozen=True)
class Parameters:
    """Counts of weights. attention, mlp, norms: of one layer.

    embedding: the table of words. positions: the table of positions; 0 for a LLaMA, which turns
    queries and keys by an angle instead (rotary embedding) and learns nothing for it.
    final_norm, head: after the last layer; head is 0 where it is the word embedding again (tied).
    """

    embedding: int
    positions: int
    attention: int
    mlp: int
    norms: int
    layers: int
    final_norm: int
    head: int

    @property
    def layer(self) -> int:
        """Of one layer."""
        return self.attention + self.mlp + self.norms

    @property
    def total(self) -> int:
        """Of the model: each weight once, also where it is used twice."""
        outside = self.embedding + self.positions + self.final_norm + self.head
        return outside + self.layers * self.layer

    def __str__(self) -> str:
        rows = {
            "word embedding": self.embedding,
            "positional embedding": self.positions,
            f"{self.layers} layers of {self.layer:,}": self.layers * self.layer,
            "last norm": self.final_norm,
            "output matrix": self.head,
            "in all": self.total,
        }
        return "\n".join(f"{name:<34}{count:>18,}" for name, count in rows.items())


def parameters(model: ModelConfig) -> Parameters:
    """The parameters of a model, as `transformers` counts them: tied weights once."""
    h, q, kv, i = model.hidden, model.query_width, model.kv_width, model.intermediate
    attention, mlp = 2 * h * q + 2 * h * kv, (3 if model.gated else 2) * h * i
    norm = h if model.family == "llama" else 2 * h  # RMSNorm has no shift
    if model.family == "gpt2" or model.attention_bias:
        attention += q + 2 * kv + h
    if model.family == "gpt2":
        mlp += i + h
    elif model.mlp_bias:
        mlp += 2 * i + h
    return Parameters(
        embedding=model.vocabulary * h,
        positions=model.positions * h if model.family == "gpt2" else 0,
        attention=attention,
        mlp=mlp,
        norms=2 * norm,
        layers=model.layers,
        final_norm=norm,
        head=0 if model.tied else model.vocabulary * h,
    )
