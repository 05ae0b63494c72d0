"""The forward pass of one layer, step by step: which tensors live when, and where the peak is."""

from dataclasses import dataclass

from helpers.cost.activations import BYTES
from helpers.cost.config import ModelConfig
from helpers.cost.parameters import parameters

# For each step: the tensors it creates, and those it frees. A tensor whose name ends in "+" is
# needed by the next step only; all others are kept for the backward pass.
STEPS = (
    ("the layer begins", ("its input",), ()),
    ("first norm", ("first norm",), ()),
    ("Q, K and V", ("Q", "K", "V"), ()),
    ("attention scores", ("scores +",), ()),
    ("softmax", ("attention",), ("scores +",)),
    ("attention times V", ("context",), ()),
    ("output projection", ("projection +",), ()),
    ("first residual", ("first sum",), ("projection +",)),
    ("second norm", ("second norm",), ()),
    ("into the MLP", ("gate", "up"), ()),
    ("activation function", ("activated",), ()),
    ("gate times up", ("product",), ()),
    ("out of the MLP", ("MLP's output +",), ()),
    ("second residual", ("output",), ("MLP's output +",)),
)
WITHOUT_GATE = {"gate", "product"}  # a GPT-2 activates `up` itself


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

    What the backward pass needs is kept, as in training. Gradients and optimizer states are not
    part of a forward pass.
    """
    size = _sizes(model)
    live: dict[str, float] = {}
    most: dict[str, float] = {}
    moment = ""
    for step, makes, frees in STEPS:
        live |= {name: size[name] for name in makes if name in size}
        if sum(live.values()) > sum(most.values()):
            most, moment = dict(live), step
        for name in frees:
            del live[name]
    words = (
        f"batch 1, sequence {model.positions}, 2 bytes a value, all s x s attention scores, "
        "tensors that the backward pass needs are kept"
    )
    named = {name.removesuffix(" +"): size for name, size in most.items()}
    return ForwardPeak(BYTES * parameters(model).layer, named, moment, words)


def _sizes(model: ModelConfig) -> dict[str, float]:
    """Return the bytes of each tensor of `STEPS` that the model has."""
    one = BYTES * model.positions
    model.require_alike("the peak")
    widths = dict.fromkeys((name for _, makes, _ in STEPS for name in makes), model.hidden)
    widths |= dict.fromkeys(("gate", "up", "activated", "product"), model.active_intermediate)
    widths |= {"Q": model.query_width, "K": model.kv_width, "V": model.kv_width}
    widths |= {"context": model.query_width}
    widths |= dict.fromkeys(("scores +", "attention"), model.heads * model.positions)
    left_out = set() if model.gated else WITHOUT_GATE
    return {name: one * width for name, width in widths.items() if name not in left_out}
