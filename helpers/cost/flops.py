"""Floating-point operations of a training step, and the two utilisations, MFU and HFU.

What is counted: matrix products, 2mnk for (m, k) x (k, n). Norms, softmax and activation functions
are a few operations for each value, and are left out, as everywhere in the literature.
"""

from dataclasses import dataclass, replace

from helpers.cost.config import ModelConfig

ATTENTION = {
    "full": "all s x s attention scores are computed",
    "causal": "half of the s x s attention scores: those below the diagonal",
    "weights": "products with weights only, no attention scores",
}
RECOMPUTE = ("none", "selective", "full")


@dataclass(frozen=True)
class Flops:
    """Of one forward pass. weights: products with the matrices of one layer; scores: attention
    scores and their product with the values, of one layer; logits: the last matrix.

    The embedding is a look-up and costs none.
    """

    weights: float
    scores: float
    logits: float
    layers: int
    convention: str

    @property
    def layer(self) -> float:
        """Forward through one layer."""
        return self.weights + self.scores

    @property
    def forward(self) -> float:
        """Forward through the model."""
        return self.layers * self.layer + self.logits

    @property
    def backward(self) -> float:
        """Each product of the forward pass needs two: for its input, and for its weights (or for
        both of its inputs)."""
        return 2 * self.forward

    @property
    def model(self) -> float:
        """What training needs: forward and backward, nothing twice. MFU counts these."""
        return self.forward + self.backward

    def hardware(self, recompute: str = "none") -> float:
        """What the devices compute: `model`, and what is computed again. HFU counts these.

        recompute: "full": each layer goes forward twice; "selective": the attention scores only
        (arXiv 2205.05198, section 5); "none".
        """
        checked_recompute(recompute)
        again = {"none": 0.0, "selective": self.scores, "full": self.layer}[recompute]
        return self.model + self.layers * again

    def __add__(self, other: "Flops") -> "Flops":
        """Of two passes of one model."""
        return replace(
            self,
            weights=self.weights + other.weights,
            scores=self.scores + other.scores,
            logits=self.logits + other.logits,
        )


def flops(
    model: ModelConfig, batch: int = 1, sequence: int | None = None, attention: str = "full"
) -> Flops:
    """Of a forward pass over `batch` sequences of `sequence` tokens (left out: the longest).

    attention: "full", "causal" or "weights"; the papers on Megatron count "full".
    Raises ValueError for a convention that there is not, and for sizes below 1.
    """
    sequence = model.positions if sequence is None else sequence
    if attention not in ATTENTION:
        raise ValueError(f"attention={attention!r}: choose one of {', '.join(ATTENTION)}")
    if batch < 1 or sequence < 1:
        raise ValueError(f"a batch of {batch} x {sequence} tokens: both must be 1 or more")
    tokens = batch * sequence
    h, q, kv = model.hidden, model.query_width, model.kv_width
    matrices = 2 * h * q + 2 * h * kv + (3 if model.gated else 2) * h * model.intermediate
    share = {"full": 1.0, "causal": 0.5, "weights": 0.0}[attention]
    return Flops(
        weights=2.0 * tokens * matrices,
        scores=4.0 * tokens * sequence * q * share,
        logits=2.0 * tokens * h * model.vocabulary,
        layers=model.layers,
        convention=f"batch {batch}, sequence {sequence}, 2mnk a product, {ATTENTION[attention]}",
    )


def checked_recompute(recompute: str) -> str:
    """The word as it is; ValueError, one sentence, if there is no such recomputation."""
    if recompute not in RECOMPUTE:
        raise ValueError(f"recompute={recompute!r}: choose one of {', '.join(RECOMPUTE)}")
    return recompute


@dataclass(frozen=True)
class Utilisation:
    """Shares of the peak, 0 to 1. mfu: operations that the model needs; hfu: those that the
    devices did, what was computed again among them (arXiv 2205.05198, section 6.3)."""

    mfu: float
    hfu: float
    convention: str

    def __str__(self) -> str:
        return f"MFU {self.mfu:.1%}, HFU {self.hfu:.1%} ({self.convention})"


def utilisation(
    step: Flops, seconds: float, devices: int, peak: float, recompute: str = "none"
) -> Utilisation:
    """How much of the peak a step used.

    step: of the global batch. seconds: of a step. peak: operations a second of one device.
    Raises ValueError where a time, a count or a peak is not above 0.
    """
    for name, value in (("seconds", seconds), ("devices", devices), ("peak", peak)):
        if not value > 0:
            raise ValueError(f"utilisation({name}={value!r}): it must be above 0")
    room = seconds * devices * peak
    words = f"{step.convention}; peak {peak / 1e12:g} TFLOP/s a device"
    return Utilisation(step.model / room, step.hardware(recompute) / room, words)
