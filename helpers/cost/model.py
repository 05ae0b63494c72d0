"""The sizes of a model, the matrices of its layers, and its parameters."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache


def one_of(choices: Iterable, value, name: str):
    """Return the value itself; raise ValueError if it is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name}={value!r}: choose one of {', '.join(map(str, choices))}")
    return value


def is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def require_sizes(facts: object, names: str) -> None:
    for name in names.split():
        if not is_size(value := getattr(facts, name)):
            kind = type(facts).__name__
            raise ValueError(f"{kind}({name}={value!r}): give a whole number, 1 or more")


@dataclass(frozen=True)
class MoE:
    """A mixture of experts in place of the MLPs (see `simplellm.moe`)."""

    experts: int
    chosen: int  # how many of them a token is sent to
    intermediate: int  # width of one
    shared: int = 0  # experts that see every token
    dense: int = 0  # how many layers, the first ones, have a plain MLP
    nodes: int = 0  # on how many nodes the experts of one token may be; 0 for any

    def __post_init__(self):
        if not 1 <= self.chosen <= self.experts or self.intermediate < 1:
            words = f"{self.chosen} of {self.experts} experts of width {self.intermediate}"
            cure = "choose 1 or more, and not more than there are"
            raise ValueError(f"a token chooses {words}: {cure}")


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention: widths, by their paper's names (arXiv 2405.04434)."""

    q_rank: int  # of the compressed queries; 0: they aren't
    kv_rank: int  # of the compressed keys and values
    nope: int  # of a head's query and key, without positions
    rope: int  # and with
    value: int  # of a head's value


@dataclass(frozen=True)
class Matrix:
    """A matrix of a layer: `inner` numbers of a token go in, `outer` come out."""

    name: str
    inner: int
    outer: int
    cut: str = ""  # which of the two tensor parallelism cuts; "" is neither
    held: int = 1  # how many of its kind a layer has
    used: int = 1  # how many of them a token passes

    @property
    def size(self) -> int:
        return self.inner * self.outer


@dataclass(frozen=True)
class ModelConfig:
    """A decoder-only transformer.

    family: "llama" (RMSNorm, rotary positions, SwiGLU with three matrices, no biases) or "gpt2"
        (LayerNorm, a table of positions, GELU with two matrices, biases).
    """

    family: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int  # heads of keys and values; fewer than `heads` share them
    head_size: int
    intermediate: int  # width inside the MLP
    vocabulary: int
    positions: int = 2048  # the longest sequence
    tied: bool = False  # the last matrix is the word embedding again
    moe: MoE | None = None
    latent: Latent | None = None
    # What `read_config` finds in other models.
    rotary: bool = False  # a "gpt2" without a table of positions
    counted: tuple[int, int] | None = None  # parameters, in all and on a token
    note: str = ""  # why it has no formulas, if it has none

    def __post_init__(self):
        one_of(("llama", "gpt2"), self.family, "family")
        names = "hidden layers heads kv_heads head_size intermediate vocabulary positions"
        require_sizes(self, names)
        if self.heads % self.kv_heads:
            words = f"{self.heads} heads cannot share {self.kv_heads} heads of keys and values"
            raise ValueError(f"{words} evenly: choose a divisor")
        if self.moe and self.moe.dense > self.layers:
            raise ValueError(f"{self.moe.dense} dense layers of {self.layers}: choose fewer")

    def require(self, family: str) -> "ModelConfig":
        """Return the config itself if it is of this family; raise ValueError if not."""
        if self.family != family:
            words = f"this is the config of a {self.family}, and a {family} is asked for"
            raise ValueError(f"{words}: give its config.json")
        return self

    def require_usual(self, what: str) -> None:
        """Raise ValueError if the attention is latent, for which `what` isn't worked out."""
        if self.latent:
            raise ValueError(f"{what} of a model with latent attention isn't worked out here")

    @property
    def gated(self) -> bool:  # an MLP of three matrices (SwiGLU) instead of two
        return self.family == "llama"

    @property
    def expert_layers(self) -> int:
        return self.layers - self.moe.dense if self.moe else 0

    @property
    def active_intermediate(self) -> int:
        """Width of the MLPs that a token passes in one layer, in a layer with experts if any."""
        moe = self.moe
        return (moe.chosen + moe.shared) * moe.intermediate if moe else self.intermediate

    @property
    def key_size(self) -> int:
        """Width of one head's query and key."""
        return self.latent.nope + self.latent.rope if self.latent else self.head_size

    @property
    def value_size(self) -> int:
        return self.latent.value if self.latent else self.head_size

    @property
    def query_width(self) -> int:
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

    def second_products(self) -> list[Matrix]:
        """Return what torchtitan's selective checkpointing by "op" computes again: of a LLaMA's
        seven products it saves every second one, beginning with the first, so not those of the
        keys, the output and the matrix beside the gate. ValueError for a layer of another kind."""
        if not self.gated or self.moe or self.latent:
            raise ValueError('recompute="op" counts a dense LLaMA layer: choose another for this')
        return [
            Matrix("keys", self.hidden, self.kv_width, "outer"),
            Matrix("output projection", self.query_width, self.hidden, "inner"),
            Matrix("up", self.hidden, self.intermediate, "outer"),
        ]

    def mlp(self, dense: bool = False) -> list[Matrix]:
        """Return those of its MLP, or (unless `dense`) of its router and experts."""
        moe = None if dense else self.moe
        if moe is None:
            return self._pair("MLP", self.intermediate)
        found = [Matrix("router", self.hidden, moe.experts)]
        found += self._pair("experts", moe.intermediate, moe.experts, moe.chosen)
        return found + self._pair("shared experts", moe.shared * moe.intermediate)

    def _pair(self, name: str, width: int, held: int = 1, used: int = 1) -> list[Matrix]:
        inside = (2 if self.gated else 1) * width
        both = (self.hidden, inside, "outer"), (width, self.hidden, "inner")
        return [Matrix(name, *sizes, held, used) for sizes in both if width]


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
    """Counts of weights."""

    layers: int
    embedding: int = 0  # of words
    positions: int = 0  # its table; a LLaMA rotates
    layer: int = 0  # one layer, with experts if the model has such layers
    plain: int = 0  # one without
    final_norm: int = 0
    head: int = 0  # the last matrix, if it isn't the embedding again
    expert: int = 0  # one of a mixture
    idle: int = 0  # experts of a layer that a token doesn't pass
    expert_layers: int = 0
    counted: tuple[int, int] | None = None  # in all, on a token; its parts lack norms and biases

    @property
    def total(self) -> int:
        """Parameters of the model; a weight that is used twice counts once."""
        return self.counted[0] if self.counted else sum(self._rows().values())

    @property
    def active(self) -> int:
        """Parameters that one token passes, the whole embedding table among them."""
        return self.counted[1] if self.counted else self.total - self.expert_layers * self.idle

    def _rows(self) -> dict[str, int]:
        routed, dense = self.expert_layers, self.layers - self.expert_layers
        return {
            "word embedding": self.embedding,
            "positional embedding": self.positions,
            f"{dense} layers of {self.plain:,}": dense * self.plain,
            f"{routed} with experts, of {self.layer:,}": routed * self.layer,
            "last norm": self.final_norm,
            "output matrix": self.head,
        }

    def __str__(self) -> str:
        rows = self._rows()
        rows["others"] = self.total - sum(rows.values())
        rows["in all"] = self.total
        rows["used by a token"] = self.active if self.active != self.total else 0
        return "\n".join(f"{name:<34}{count:>18,}" for name, count in rows.items() if count)


@lru_cache(256)
def parameters(model: ModelConfig) -> Parameters:
    """Return the parameters of a model as `transformers` counts them: tied weights once."""
    if model.note:  # it has no formulas
        return Parameters(model.layers, counted=model.counted)
    gpt2, table, moe = not model.gated, model.vocabulary * model.hidden, model.moe
    mlp, norm = held(model.mlp(dense=True)), (1 + gpt2) * model.hidden  # RMSNorm has no shift
    plain = held(model.attention()) + mlp + 2 * norm
    if model.latent:
        plain += model.latent.q_rank + model.latent.kv_rank  # two norms
    elif gpt2:  # with biases
        plain += model.query_width + 2 * model.kv_width + 2 * model.hidden + model.intermediate
    expert = sum(m.size for m in model.mlp() if m.name == "experts")
    return Parameters(
        layers=model.layers,
        embedding=table,
        positions=model.positions * model.hidden if gpt2 and not model.rotary else 0,
        layer=plain + held(model.mlp()) - mlp,
        plain=plain,
        final_norm=norm,
        head=0 if model.tied else table,
        expert=expert,
        idle=(moe.experts - moe.chosen) * expert if moe else 0,
        expert_layers=model.expert_layers,
        counted=model.counted,
    )


def held(matrices: list[Matrix]) -> int:
    return sum(m.size * m.held for m in matrices)
