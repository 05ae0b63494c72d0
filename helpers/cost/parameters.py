"""The number of parameters of a model, part by part."""

from dataclasses import dataclass
from functools import lru_cache

from helpers.cost.config import Matrix, ModelConfig


@dataclass(frozen=True)
class Parameters:
    """Counts of weights. attention, mlp, norms: of one layer.

    embedding: of words. positions: its table; 0 for a LLaMA, which rotates. final_norm, head: after
    the last layer; head is 0 if it is tied to the word embedding. expert: one expert of a mixture;
    experts: all of a layer, with the shared ones and the router; used: those of them that one token
    passes. expert_layers: how many layers have them in place of `mlp`. counted: (in all, on a
    token) of a model without formulas, whose parts are 0.
    """

    embedding: int
    positions: int
    attention: int
    mlp: int
    norms: int
    layers: int
    final_norm: int
    head: int
    expert: int = 0
    experts: int = 0
    used: int = 0
    expert_layers: int = 0
    counted: tuple[int, int] | None = None

    @property
    def layer(self) -> int:
        """Parameters of one layer; of one with experts, if the model has such layers."""
        return self.attention + (self.experts or self.mlp) + self.norms

    @property
    def total(self) -> int:
        """Parameters of the model; a weight that is used twice counts once."""
        return self.counted[0] if self.counted else self._with(self.experts)

    @property
    def active(self) -> int:
        """Parameters that one token passes, the whole embedding table among them."""
        return self.counted[1] if self.counted else self._with(self.used)

    def _with(self, experts: int) -> int:
        outside = self.embedding + self.positions + self.final_norm + self.head
        dense = self.layers - self.expert_layers
        inside = self.layers * (self.attention + self.norms) + dense * self.mlp
        return outside + inside + self.expert_layers * experts

    def __str__(self) -> str:
        rows = {
            "word embedding": self.embedding,
            "positional embedding": self.positions,
            f"{self.layers} layers of {self.layer:,}": self.layers * self.layer,
            "last norm": self.final_norm,
            "output matrix": self.head,
        }
        if self.expert_layers:
            less = (self.layers - self.expert_layers) * (self.experts - self.mlp)
            rows["less in the dense layers"] = -less
        rows = {"in all": self.total} if self.counted else rows | {"in all": self.total}
        if self.active != self.total:
            rows["used by a token"] = self.active
        return "\n".join(f"{name:<34}{count:>18,}" for name, count in rows.items())


@lru_cache(256)
def parameters(model: ModelConfig) -> Parameters:
    """Return the parameters of a model as `transformers` counts them: tied weights once."""
    if model.counted:
        return Parameters(0, 0, 0, 0, 0, model.layers, 0, 0, counted=model.counted)
    h, q, kv, i = model.hidden, model.query_width, model.kv_width, model.intermediate
    plain, moe, table = model.family == "gpt2", model.moe, model.vocabulary * model.hidden
    attention, mlp = _size(model.attention()), _size(model.mlp(dense=True))
    norm = 2 * h if plain else h  # RMSNorm has no shift
    if model.vectors is None:
        if model.latent:
            attention += model.latent.q_rank + model.latent.kv_rank  # two norms
        elif plain or model.attention_bias:
            attention += q + 2 * kv + h
        if plain or model.mlp_bias:
            mlp += (2 * i if model.gated else i) + h
    expert = experts = used = 0
    if moe:
        expert = moe.biases + sum(m.size for m in model.mlp() if m.name == "experts")
        rest = _size([m for m in model.mlp() if m.name != "experts"])
        experts, used = rest + moe.experts * expert, rest + moe.chosen * expert
    return Parameters(
        embedding=table,
        positions=model.positions * h if plain and not model.rotary else 0,
        attention=attention,
        mlp=mlp,
        norms=2 * norm if model.vectors is None else model.vectors,
        layers=model.layers,
        final_norm=norm if model.last is None else model.last,
        head=0 if model.tied else table,
        expert=expert,
        experts=experts,
        used=used,
        expert_layers=model.expert_layers,
    )


def _size(matrices: list[Matrix]) -> int:
    return sum(m.size * m.held for m in matrices)
