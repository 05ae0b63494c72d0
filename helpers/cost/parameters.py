"""The number of parameters of a model, part by part."""

from dataclasses import dataclass

from helpers.cost.config import ModelConfig


@dataclass(frozen=True)
class Parameters:
    """Counts of weights. attention, mlp, norms: of one layer.

    embedding: the word embedding. positions: the positional embedding; 0 for a LLaMA, whose rotary
    embedding has no parameters.
    final_norm, head: after the last layer; head is 0 if it is tied to the word embedding.
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
        """Parameters of one layer."""
        return self.attention + self.mlp + self.norms

    @property
    def total(self) -> int:
        """Parameters of the model; a weight that is used twice counts once."""
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
    """Return the parameters of a model as `transformers` counts them: tied weights once."""
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
