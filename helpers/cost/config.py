"""The sizes of a model, on which its costs depend."""

from dataclasses import dataclass

FAMILIES = ("llama", "gpt2")


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
