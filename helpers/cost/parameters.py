"""The number of parameters of a model, part by part."""

from dataclasses import dataclass

from helpers.cost.config import ModelConfig


@dataclass(frozen=True)
class Parameters:
    """Counts of weights. attention, mlp, norms: of one layer.

    embedding: the word embedding. positions: the positional embedding; 0 for a LLaMA, whose rotary
    embedding has no parameters.
    final_norm, head: after the last layer; head is 0 if it is tied to the word embedding.
    expert: one expert of a mixture; experts: all of a layer, with the shared ones and the router;
    used: those of them that one token passes. expert_layers: how many layers have them in place of
    `mlp`.
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

    @property
    def layer(self) -> int:
        """Parameters of one layer; of one with experts, if the model has such layers."""
        return self.attention + (self.experts or self.mlp) + self.norms

    @property
    def total(self) -> int:
        """Parameters of the model; a weight that is used twice counts once."""
        return self._with(self.experts)

    @property
    def active(self) -> int:
        """Parameters that one token passes, the whole embedding table among them."""
        return self._with(self.used)

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
            "in all": self.total,
        }
        if self.expert_layers:
            less = (self.layers - self.expert_layers) * (self.experts - self.mlp)
            rows |= {"less in the dense layers": -less, "in all": rows.pop("in all")}
            rows["used by a token"] = self.active
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
    expert = experts = used = 0
    if model.latent:
        attention = model.latent.parameters(h, model.heads)
    if model.moe:
        moe, expert = model.moe, 3 * h * model.moe.intermediate
        router = moe.experts * h
        experts = router + (moe.experts + moe.shared) * expert
        used = router + (moe.chosen + moe.shared) * expert
    return Parameters(
        embedding=model.vocabulary * h,
        positions=model.positions * h if model.family == "gpt2" else 0,
        attention=attention,
        mlp=mlp,
        norms=2 * norm,
        layers=model.layers,
        final_norm=norm,
        head=0 if model.tied else model.vocabulary * h,
        expert=expert,
        experts=experts,
        used=used,
        expert_layers=model.expert_layers,
    )
