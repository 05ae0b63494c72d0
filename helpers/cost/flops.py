"""FLOPs of a training step, and the two utilizations, MFU and HFU.

Only matrix products count, 2mnk for (m, k) x (k, n). Norms, softmax and activation functions take
a few operations per value and are left out, as is usual in the literature.
"""

from dataclasses import dataclass

from helpers.cost.model import ModelConfig

ATTENTION = {
    "full": "all s x s attention scores are computed",
    "causal": "half of the s x s attention scores: those below the diagonal",
    "weights": "products with weights only, no attention scores",
}
RECOMPUTE = ("none", "selective", "full")


@dataclass(frozen=True)
class Flops:
    """The FLOPs of one forward pass.

    weights: products with the matrices of one layer. scores: attention scores and their product
    with the values, of one layer. logits: the last matrix. The embedding is a look-up, without
    FLOPs.
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
        """Each forward product needs two: the gradients of its input and of its weights (or of both
        its inputs)."""
        return 2 * self.forward

    @property
    def model(self) -> float:
        """FLOPs that training needs: forward and backward, no recomputation. MFU counts these."""
        return self.forward + self.backward

    def hardware(self, recompute: str = "none") -> float:
        """Return the FLOPs that the devices compute: `model` plus recomputation. HFU counts these.

        recompute: "full": each layer goes forward twice; "selective": the attention scores only
        (arXiv 2205.05198, section 5); "none".

        For a GPT, "selective" is 72 B L s h^2 (1 + 2s/9h + v/12hL): scores and their product with
        the values once more, forward. The paper prints 1 + s/3h, three times this extra, and its
        HFU in table 5 is higher for it: 43.7 % for the 22B model, where this count gives 42.4 %.
        """
        again = {"none": 0.0, "selective": self.scores, "full": self.layer}
        return self.model + self.layers * again[checked_recompute(recompute)]


def flops(
    model: ModelConfig, batch: int = 1, sequence: int | None = None, attention: str = "full"
) -> Flops:
    """Return the FLOPs of a forward pass over `batch` sequences of `sequence` tokens.

    sequence: by default the longest that the model allows.
    attention: "full", "causal" or "weights"; the Megatron papers count "full". Where layers see
        only a window of the tokens, all scores are counted, as a mask leaves them.

    Raises:
        ValueError: for an unknown convention, and for sizes below 1.
    """
    sequence = model.positions if sequence is None else sequence
    if attention not in ATTENTION:
        raise ValueError(f"attention={attention!r}: choose one of {', '.join(ATTENTION)}")
    if batch < 1 or sequence < 1:
        raise ValueError(f"a batch of {batch} x {sequence} tokens: both must be 1 or more")
    tokens = batch * sequence
    matrices = float(sum(m.size for m in model.attention()))
    for mlp, layers in (
        (model.mlp(), model.expert_layers),
        (model.mlp(dense=True), model.layers - model.expert_layers),
    ):  # the mean over the layers
        matrices += sum(m.size * m.used for m in mlp) * layers / model.layers
    share = {"full": 1.0, "causal": 0.5, "weights": 0.0}[attention]
    return Flops(
        weights=2.0 * tokens * matrices,
        scores=2.0 * tokens * sequence * model.heads * (model.key_size + model.value_size) * share,
        logits=2.0 * tokens * model.hidden * model.vocabulary,
        layers=model.layers,
        convention=f"batch {batch}, sequence {sequence}, 2mnk a product, {ATTENTION[attention]}",
    )


def checked_recompute(recompute: str) -> str:
    """Return `recompute` unchanged; raise ValueError if it is unknown."""
    if recompute not in RECOMPUTE:
        raise ValueError(f"recompute={recompute!r}: choose one of {', '.join(RECOMPUTE)}")
    return recompute


@dataclass(frozen=True)
class Utilisation:
    """Shares of the peak, 0 to 1. mfu: of the FLOPs that the model needs; hfu: of those that the
    devices computed, including recomputation (arXiv 2205.05198, section 6.3)."""

    mfu: float
    hfu: float
    convention: str

    def __str__(self) -> str:
        return f"MFU {self.mfu:.1%}, HFU {self.hfu:.1%} ({self.convention})"


def utilisation(
    step: Flops, seconds: float, devices: int, peak: float, recompute: str = "none"
) -> Utilisation:
    """Return the share of the peak that a step used.

    step: the FLOPs of the global batch. seconds: of a step. peak: FLOP/s of one device.

    Raises:
        ValueError: if a time, a count or a peak is not above 0.
    """
    for name, value in (("seconds", seconds), ("devices", devices), ("peak", peak)):
        if not value > 0:
            raise ValueError(f"utilisation({name}={value!r}): it must be above 0")
    room = seconds * devices * peak
    words = f"{step.convention}; peak {peak / 1e12:g} TFLOP/s a device"
    return Utilisation(step.model / room, step.hardware(recompute) / room, words)
