"""FLOPs of a training step.

Only matrix products count, 2mnk for (m, k) x (k, n). Norms, softmax and activation functions take
a few operations per value and are left out, as is usual in the literature.
"""

from dataclasses import dataclass

from helpers.cost.model import ModelConfig, one_of

ATTENTION = {  # the share of the s x s scores that counts, and how to say so
    "full": (1.0, "all s x s attention scores are computed"),
    "causal": (0.5, "half of the s x s attention scores: those below the diagonal"),
    "weights": (0.0, "products with weights only, no attention scores"),
}
RECOMPUTE = ("none", "selective", "op", "full")


@dataclass(frozen=True)
class Flops:
    """Of one forward pass."""

    weights: float  # products with the matrices of one layer
    scores: float  # attention scores and their product with the values, of one layer
    logits: float  # the last matrix
    layers: int
    convention: str
    config: ModelConfig
    tokens: int

    @property
    def layer(self) -> float:
        """Forward through one layer."""
        return self.weights + self.scores

    @property
    def forward(self) -> float:
        """Forward through the model."""
        return self.layers * self.layer + self.logits

    @property
    def model(self) -> float:
        """FLOPs that training needs, no recomputation: MFU counts these. Backward has two products
        for each one forward, the gradients of its two factors."""
        return 3 * self.forward

    def hardware(self, recompute: str = "none") -> float:
        """Return the FLOPs that the devices compute: `model` plus recomputation. HFU counts these.

        "full": each layer goes forward twice. "selective": scores and their product with the values
        do (arXiv 2205.05198, section 5): 72 B L s h^2 (1 + 2s/9h + v/12hL) for a GPT. The paper
        prints 1 + s/3h, three times this extra, so its HFU in table 5 is higher: 43.7 % for the 22B
        model, where this count gives 42.4 %. "op": `ModelConfig.second_products` are.
        """
        again = {"none": 0.0, "selective": self.scores, "full": self.layer}
        if one_of(RECOMPUTE, recompute, "recompute") == "op":
            again["op"] = 2.0 * self.tokens * sum(m.size for m in self.config.second_products())
        return self.model + self.layers * again[recompute]


def flops(
    model: ModelConfig, batch: int = 1, sequence: int | None = None, attention: str = "full"
) -> Flops:
    """Return the FLOPs of a forward pass over `batch` sequences of `sequence` tokens, by default
    the longest that the model allows.

    attention: a convention of `ATTENTION`; the Megatron papers count "full". Where layers see only
        a window of the tokens, all scores are counted, as a mask leaves them.
    """
    sequence = model.positions if sequence is None else sequence
    share, words = ATTENTION[one_of(ATTENTION, attention, "attention")]
    if batch < 1 or sequence < 1:
        raise ValueError(f"a batch of {batch} x {sequence} tokens: both must be 1 or more")
    tokens = batch * sequence
    experts = model.expert_layers / model.layers
    matrices = sum(m.size for m in model.attention())
    matrices += experts * sum(m.size * m.used for m in model.mlp())
    matrices += (1 - experts) * sum(m.size for m in model.mlp(dense=True))
    return Flops(
        weights=2.0 * tokens * matrices,
        scores=2.0 * tokens * sequence * model.heads * (model.key_size + model.value_size) * share,
        logits=2.0 * tokens * model.hidden * model.vocabulary,
        layers=model.layers,
        convention=f"batch {batch}, sequence {sequence}, 2mnk a product, {words}",
        config=model,
        tokens=tokens,
    )
