"""The sizes of a LLaMA as data: checked, with every default filled in."""

from dataclasses import dataclass, field, fields
from inspect import Parameter, Signature


def rope_settings(rope_parameters: dict | None = None, theta: float = 10000.0) -> dict:
    """Return the rotary settings, from a dict with the names that `transformers` 5 uses.

    "rope_theta" is the base (by default `theta`); "rope_type" can only be "default".
    """
    given = {name: value for name, value in (rope_parameters or {}).items() if value is not None}
    if (kind := given.pop("rope_type", "default")) != "default":
        raise ValueError(f"rotary positions of type {kind!r} are not supported: use default.")
    base = float(given.pop("rope_theta", theta))
    if given:
        raise ValueError(f"rope_parameters have no setting {min(given)!r}: use rope_theta.")
    return {"rope_type": kind, "rope_theta": base}


@dataclass
class Config:
    """The sizes of a model or of one stage. ValueError if they do not fit together."""

    dmodel: int = 4096
    num_heads: int = 32
    hidden_dim: int | None = None  # width of the feed-forward part, by default 4 * dmodel
    norm_eps: float = 1e-6
    dropout_prob: float = 0.0  # of attention weights, in training only
    head_dim: int | None = None  # by default dmodel / num_heads
    ctx_size: int = 2048
    num_kv_heads: int | None = None  # by default num_heads
    n_layers: int = 32
    rope: dict = field(default_factory=rope_settings)
    vocab_size: int | None = None  # None in a stage that has neither embedding nor head
    padding_idx: int | None = None
    shared: bool = False  # embedding and head are one tensor

    def __post_init__(self):
        for name in "dmodel num_heads num_kv_heads ctx_size vocab_size n_layers".split():
            value, least = getattr(self, name), int(name != "n_layers")
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least}, not {value}.")
        if not 0 <= self.dropout_prob < 1:
            raise ValueError(f"dropout_prob must be in [0, 1), not {self.dropout_prob}.")
        self.hidden_dim = self.hidden_dim or 4 * self.dmodel
        self.num_kv_heads = self.num_kv_heads or self.num_heads
        if self.head_dim is None and self.dmodel % self.num_heads:
            words = f"{self.num_heads} heads do not divide dmodel = {self.dmodel} evenly"
            raise ValueError(f"{words}: choose num_heads so that they do, or give head_dim.")
        self.head_dim = self.head_dim or self.dmodel // self.num_heads
        if self.head_dim % 2:
            raise ValueError(
                f"head_dim must be even, because rotary positions turn pairs of features, and is "
                f"{self.head_dim} (dmodel {self.dmodel}, {self.num_heads} heads)."
            )
        if self.num_heads % self.num_kv_heads:
            words = f"num_kv_heads = {self.num_kv_heads} does not divide"
            words += f" num_heads = {self.num_heads} evenly"
            raise ValueError(f"{words}: each key-value head serves the same number of query heads.")
        if self.padding_idx is not None and self.padding_idx < 0:
            self.padding_idx = None  # SentencePiece says -1 for "no padding token"


# What constructors take and `Config` has under another name, or doesn't have.
OTHERS = {
    "device": "auto",
    "theta": 10000.0,
    "rope_parameters": None,
    "linear_implementation": "torch",  # older scripts name it; the layers are torch's in any case
    "share_weights": False,
    "de_embed": True,
    "mdl_type": Parameter.empty,
}
DEFAULTS = {each.name: each.default for each in fields(Config)} | OTHERS


def signature(order: str, *needed: str, **defaults: object) -> Signature:
    """Return the signature of a constructor that takes sizes: their names, in this order.

    needed: those without a default. defaults: those that aren't `Config`'s.
    """
    found = DEFAULTS | dict.fromkeys(needed, Parameter.empty) | defaults
    either = Parameter.POSITIONAL_OR_KEYWORD
    return Signature([Parameter(name, either, default=found[name]) for name in order.split()])


def arguments(takes: Signature, sizes: tuple, named: dict) -> dict:
    given = takes.bind(*sizes, **named)
    given.apply_defaults()
    return given.arguments


def configured(given: dict) -> Config:
    sizes = {name: value for name, value in given.items() if name not in OTHERS}
    rope = rope_settings(given["rope_parameters"], given["theta"])
    return Config(**sizes, shared=given.get("share_weights", False), rope=rope)
