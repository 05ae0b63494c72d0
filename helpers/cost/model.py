"""The sizes of a model, the matrices of its layers, and its parameters."""

from dataclasses import dataclass
from functools import lru_cache

FAMILIES = ("llama", "gpt2")
SIZES = "hidden layers heads kv_heads head_size intermediate vocabulary positions".split()


@dataclass(frozen=True)
class MoE:
    """A mixture of experts in place of the MLPs (see `simplellm.moe`).

    chosen: how many of the experts a token is sent to. shared: experts that see every token.
    intermediate: width of one expert. dense: how many layers, the first ones, have a plain MLP.
    nodes: on how many nodes the experts of one token may be; 0 for any.
    """

    experts: int
    chosen: int
    intermediate: int
    shared: int = 0
    dense: int = 0
    nodes: int = 0

    def __post_init__(self):
        if not 1 <= self.chosen <= self.experts or self.intermediate < 1:
            raise ValueError(
                f"a token chooses {self.chosen} of {self.experts} experts of width "
                f"{self.intermediate}: choose 1 or more, and not more than there are"
            )


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention: widths, by their paper's names (arXiv 2405.04434).

    q_rank (0: none), kv_rank: of the compressed queries, and of keys and values. nope, rope: of a
    head's query and key, without and with positions. value: of a head's value.
    """

    q_rank: int
    kv_rank: int
    nope: int
    rope: int
    value: int


@dataclass(frozen=True)
class Matrix:
    """A matrix of a layer: `inner` numbers of a token go in, `outer` come out.

    cut: which of the two tensor parallelism cuts; "" is neither. held, used: how many of its kind
    a layer has, and how many of them a token passes.
    """

    name: str
    inner: int
    outer: int
    cut: str = ""
    held: int = 1
    used: int = 1

    @property
    def size(self) -> int:
        return self.inner * self.outer


@dataclass(frozen=True)
class ModelConfig:
    """A decoder-only transformer.

    family: "llama" (RMSNorm, rotary positions, SwiGLU with three matrices, no biases) or "gpt2"
        (LayerNorm, a table of positions, GELU with two matrices, biases).
    hidden: width of the residual stream. kv_heads: heads of keys and values; fewer than `heads`
        share them. intermediate: width inside the MLP. positions: longest sequence.
    tied: whether the last matrix is the word embedding again.

    What `read_config` finds in other models: rotary: a "gpt2" without a table of positions.
    counted: its parameters, in all and on a token. note: why it has no formulas, if it has none.
    """

    family: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    intermediate: int
    vocabulary: int
    positions: int = 2048
    tied: bool = False
    moe: MoE | None = None
    latent: Latent | None = None
    rotary: bool = False
    counted: tuple[int, int] | None = None
    note: str = ""

    def __post_init__(self):
        if self.family not in FAMILIES:
            raise ValueError(
                f"ModelConfig(family={self.family!r}): the families are {' and '.join(FAMILIES)}"
            )
        for name in SIZES:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"ModelConfig({name}={value!r}): give a whole number, 1 or more")
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} heads cannot share {self.kv_heads} heads of keys and values "
                "evenly: choose a divisor"
            )
        if self.moe and self.moe.dense > self.layers:
            raise ValueError(f"{self.moe.dense} dense layers of {self.layers}: choose fewer")

    def require(self, family: str) -> "ModelConfig":
        """Return the config itself if it is of this family; raise ValueError if not."""
        if self.family != family:
            raise ValueError(
                f"this is the config of a {self.family}, and a {family} is asked for: give its "
                "config.json"
            )
        return self

    def require_usual(self, what: str) -> None:
        """Raise ValueError if the attention is latent, for which `what` isn't worked out."""
        if self.latent:
            raise ValueError(
                f"{what} of a model with latent attention isn't worked out here: its parameters, "
                "FLOPs, memory and time are"
            )

    @property
    def gated(self) -> bool:
        """Whether the MLP has three matrices (SwiGLU) instead of two."""
        return self.family == "llama"

    @property
    def expert_layers(self) -> int:
        """How many of its layers have experts."""
        return self.layers - self.moe.dense if self.moe else 0

    @property
    def active_intermediate(self) -> int:
        """Width of the MLPs that a token passes in one layer, in a layer with experts if any."""
        if self.moe is None:
            return self.intermediate
        return (self.moe.chosen + self.moe.shared) * self.moe.intermediate

    @property
    def key_size(self) -> int:
        """Width of one head's query and key."""
        return self.latent.nope + self.latent.rope if self.latent else self.head_size

    @property
    def value_size(self) -> int:
        return self.latent.value if self.latent else self.head_size

    @property
    def query_width(self) -> int:
        """Width of all heads together; `hidden` in most models."""
        return self.heads * self.head_size

    @property
    def kv_width(self) -> int:
        """Width of the keys, and of the values."""
        return self.kv_heads * self.head_size

    def attention(self) -> list[Matrix]:
        """Return the matrices of one layer's attention; latent attention projects down, on every
        tensor-parallel rank alike, and up again to whole heads (arXiv 2405.04434, section 2.1)."""
        if self.note:
            raise ValueError(self.note)
        h, q, latent = self.hidden, self.query_width, self.latent
        if latent is None:
            return [
                Matrix("Q, K and V", h, q + 2 * self.kv_width, "outer"),
                Matrix("output projection", q, h, "inner"),
            ]
        up = self.heads * (latent.nope + latent.value)
        return [
            *([Matrix("queries, down", h, latent.q_rank)] if latent.q_rank else []),
            Matrix("keys and values, down", h, latent.kv_rank + latent.rope),
            Matrix("queries", latent.q_rank or h, self.heads * self.key_size, "outer"),
            Matrix("keys and values, up", latent.kv_rank, up, "outer"),
            Matrix("output projection", self.heads * latent.value, h, "inner"),
        ]

    def mlp(self, dense: bool = False) -> list[Matrix]:
        """Return those of its MLP, or (unless `dense`) of its router and experts."""
        if self.moe is None or dense:
            return self._pair("MLP", self.intermediate)
        moe = self.moe
        found = [Matrix("router", self.hidden, moe.experts)]
        found += self._pair("experts", moe.intermediate, moe.experts, moe.chosen)
        if moe.shared:
            found += self._pair("shared experts", moe.shared * moe.intermediate)
        return found

    def _pair(self, name: str, width: int, held: int = 1, used: int = 1) -> list[Matrix]:
        inside = (2 if self.gated else 1) * width
        return [
            Matrix(name, self.hidden, inside, "outer", held, used),
            Matrix(name, width, self.hidden, "inner", held, used),
        ]


def gpt(
    hidden: int, layers: int, heads: int, sequence: int = 2048, vocabulary: int = 51200
) -> ModelConfig:
    """Return a GPT as in the Megatron papers: an MLP of 4 x hidden, tied embeddings, 50,257 words
    padded to 51,200 (arXiv 2104.04473, section 5.1)."""
    if not heads or hidden % heads:
        raise ValueError(f"hidden {hidden} cannot be cut into {heads} heads: choose a divisor")
    sizes = hidden, layers, heads, heads, hidden // heads, 4 * hidden
    return ModelConfig("gpt2", *sizes, vocabulary, sequence, True)


MODELS = {  # known by name in lessons, pages and sliders
    "GPT-2 XL, 1.6B": gpt(1600, 48, 25, 1024, 50304),
    "LLaMA-7B": ModelConfig("llama", 4096, 32, 32, 32, 128, 11008, 32000),
    "Llama 3 8B": ModelConfig("llama", 4096, 32, 32, 8, 128, 14336, 128256, 8192),
    "Llama 3 70B": ModelConfig("llama", 8192, 80, 64, 8, 128, 28672, 128256, 8192),
    "Llama 3 405B": ModelConfig("llama", 16384, 126, 128, 8, 128, 53248, 128256, 8192),
    "GPT-3, 175B": gpt(12288, 96, 96),
    "a GPT of 1T": gpt(25600, 128, 160),
}


@dataclass(frozen=True)
class Parameters:
    """Counts of weights. attention, mlp, norms: of one layer.

    embedding: of words. positions: its table; 0 for a LLaMA, which rotates. final_norm, head: after
    the last layer; head is 0 if it is tied to the word embedding. expert: one expert of a mixture;
    experts: all of a layer, with the shared ones and the router; used: those of them that one token
    passes. expert_layers: how many layers have them in place of `mlp`. counted: (in all, on a
    token) of a model that was built; what its parts leave out are further norms and biases.
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
        less = (self.layers - self.expert_layers) * (self.experts - self.mlp)
        rows = {
            "word embedding": self.embedding,
            "positional embedding": self.positions,
            f"{self.layers} layers of {self.layer:,}": self.layers * self.layer,
            "less in the dense layers": -less if self.expert_layers else 0,
            "last norm": self.final_norm,
            "output matrix": self.head,
            "others": self.total - self._with(self.experts),
            "in all": self.total,
            "used by a token": self.active if self.active != self.total else 0,
        }
        return "\n".join(f"{name:<34}{count:>18,}" for name, count in rows.items() if count)


@lru_cache(256)
def parameters(model: ModelConfig) -> Parameters:
    """Return the parameters of a model as `transformers` counts them: tied weights once."""
    if model.note:  # it has no formulas
        return Parameters(0, 0, 0, 0, 0, model.layers, 0, 0, counted=model.counted)
    h, q, kv, i = model.hidden, model.query_width, model.kv_width, model.intermediate
    plain, moe, table = model.family == "gpt2", model.moe, model.vocabulary * model.hidden
    attention, mlp = held(model.attention()), held(model.mlp(dense=True))
    norm = 2 * h if plain else h  # RMSNorm has no shift
    if model.latent:
        attention += model.latent.q_rank + model.latent.kv_rank  # two norms
    elif plain:  # with biases
        attention += q + 2 * kv + h
        mlp += i + h
    expert = experts = used = 0
    if moe:
        expert = sum(m.size for m in model.mlp() if m.name == "experts")
        experts = held(model.mlp())
        used = experts - (moe.experts - moe.chosen) * expert
    return Parameters(
        embedding=table,
        positions=model.positions * h if plain and not model.rotary else 0,
        attention=attention,
        mlp=mlp,
        norms=2 * norm,
        layers=model.layers,
        final_norm=norm,
        head=0 if model.tied else table,
        expert=expert,
        experts=experts,
        used=used,
        expert_layers=model.expert_layers,
        counted=model.counted,
    )


def held(matrices: list[Matrix]) -> int:
    """Return the weights of these matrices."""
    return sum(m.size * m.held for m in matrices)
