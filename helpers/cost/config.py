"""The sizes of a model, on which its costs depend."""

from dataclasses import dataclass

FAMILIES = ("llama", "gpt2")


@dataclass(frozen=True)
class MoE:
    """A mixture of experts in place of the MLPs (see `simplellm.moe`).

    experts: how many a layer has; chosen: how many of them a token is sent to. shared: experts that
    see every token. intermediate: width of one expert. dense: how many layers, the first ones,
    have a plain MLP. nodes: on how many nodes the experts of one token may be; 0 for any.

    Raises:
        ValueError: if a token chooses more experts than there are, or a number is too small.
    """

    experts: int
    chosen: int
    intermediate: int
    shared: int = 0
    dense: int = 0
    nodes: int = 0

    def __post_init__(self):
        if not 1 <= self.chosen <= self.experts:
            raise ValueError(
                f"a token chooses {self.chosen} of {self.experts} experts: choose 1 or more, and "
                "not more than there are"
            )
        if self.intermediate < 1 or self.shared < 0 or self.dense < 0:
            raise ValueError(
                f"an expert of width {self.intermediate}, {self.shared} shared experts and "
                f"{self.dense} dense layers: the width must be 1 or more, the others 0 or more"
            )


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): widths, by their paper's names.

    q_rank, kv_rank: of the compressed queries, and of keys and values; q_rank 0 compresses no
    queries. nope, rope: of a head's query and key, without and with positions. value: of a head's
    value.
    """

    q_rank: int
    kv_rank: int
    nope: int
    rope: int
    value: int

    def parameters(self, hidden: int, heads: int) -> int:
        """Return the weights of the attention of one layer, with the norms inside it."""
        q, to = self.nope + self.rope, self.q_rank or hidden
        queries = heads * q * to + (hidden * self.q_rank + self.q_rank if self.q_rank else 0)
        down = hidden * (self.kv_rank + self.rope) + self.kv_rank
        up = self.kv_rank * heads * (self.nope + self.value)
        return queries + down + up + heads * self.value * hidden


@dataclass(frozen=True)
class ModelConfig:
    """A decoder-only transformer.

    family: "llama" (RMSNorm, rotary positions, SwiGLU with three matrices, no biases) or "gpt2"
        (LayerNorm, a table of positions, GELU with two matrices, biases).
    hidden: width of the residual stream, h. layers: l. heads: a. kv_heads: heads of keys and
        values; fewer than `heads` share them (grouped-query attention). head_size: width of one
        head. intermediate: width inside the MLP. vocabulary: V. positions: longest sequence.
    tied: whether the last matrix is the word embedding again.
    attention_bias, mlp_bias: biases of a LLaMA; a GPT-2 always has them.
    moe, latent: None in a dense model, and with the usual attention.

    Raises:
        ValueError: if the sizes fit no transformer.
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
    attention_bias: bool = False
    mlp_bias: bool = False
    moe: MoE | None = None
    latent: Latent | None = None

    def __post_init__(self):
        if self.family not in FAMILIES:
            raise ValueError(
                f"ModelConfig(family={self.family!r}): the families are {' and '.join(FAMILIES)}"
            )
        for name in (
            *("hidden", "layers", "heads", "kv_heads", "head_size"),
            *("intermediate", "vocabulary", "positions"),
        ):
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

    @property
    def gated(self) -> bool:
        """Whether the MLP has three matrices (SwiGLU) instead of two."""
        return self.family == "llama"

    @property
    def expert_layers(self) -> int:
        """How many layers have experts."""
        return self.layers - self.moe.dense if self.moe else 0

    @property
    def active_intermediate(self) -> int:
        """Width of the MLPs that a token passes in one layer, in a layer with experts if any."""
        if self.moe is None:
            return self.intermediate
        return (self.moe.chosen + self.moe.shared) * self.moe.intermediate

    def require_alike(self, what: str) -> "ModelConfig":
        """Return the config itself if all layers are alike, with the usual attention.

        Raises:
            ValueError: if not, because `what` isn't worked out for such a model here.
        """
        if self.latent or (self.moe and self.moe.dense):
            raise ValueError(
                f"{what} of a model with latent attention, or with dense layers before those with "
                "experts, isn't worked out here: parameters(model) and flops(model) are"
            )
        return self

    @property
    def query_width(self) -> int:
        """Width of all heads together; `hidden` in most models."""
        return self.heads * self.head_size

    @property
    def kv_width(self) -> int:
        """Width of the keys, and of the values."""
        return self.kv_heads * self.head_size


def gpt(
    hidden: int, layers: int, heads: int, sequence: int = 2048, vocabulary: int = 51200
) -> ModelConfig:
    """Return a GPT as in the Megatron papers: an MLP of 4 x hidden, tied embeddings.

    vocabulary: 50,257 words, padded to 51,200 (arXiv 2104.04473, section 5.1).
    """
    if not heads or hidden % heads:
        raise ValueError(f"hidden {hidden} cannot be cut into {heads} heads: choose a divisor")
    head = hidden // heads
    return ModelConfig(
        *("gpt2", hidden, layers, heads, heads, head, 4 * hidden, vocabulary, sequence, True)
    )
