"""What a LLaMA is made of: normalization, rotary positions, attention, feed-forward, blocks.

Shapes: B sequences of S tokens, d = dmodel features per token; h heads of hd = head_dim features,
of which k = num_kv_heads have keys and values of their own.

The architecture is that of LLaMA (Touvron et al. 2023, arXiv 2302.13971) with grouped-query
attention (Ainslie et al. 2023, arXiv 2305.13245). Names are those of Hugging Face's Llama classes.
"""

from inspect import Signature

import torch
import torch.nn.functional as F
from torch import nn

from simplellm.config import Config, arguments, configured
from simplellm.devices import pick
from simplellm.losses import check_tokens


class RMSNorm(nn.Module):
    """Root mean square layer normalization (Zhang and Sennrich 2019, arXiv 1910.07467).

    x (..., d) -> weight * x / sqrt(mean(x^2) + eps). Half-precision input is normalized in float32,
    because squares of large values overflow half precision.
    """

    def __init__(self, dmodel: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dmodel))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


def rope_table(
    rope: dict, head_dim: int, like: torch.Tensor, positions: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cos and sin of the angles, each (S, head_dim), for hidden states (B, S, d).

    positions: (S,), where each of them stands in its sequence; None for 0, 1, 2 …

    Angles are float32 whatever the model's type: in half precision neighboring positions past a
    few hundred would be the same.
    """
    if positions is None:
        positions = torch.arange(like.shape[1], device=like.device)
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32, device=like.device) / head_dim
    # Radians by which each pair of features turns per position, (head_dim / 2,).
    frequencies = 1.0 / rope["rope_theta"] ** exponents
    angles = torch.outer(positions.float(), frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate x (B, heads, S, head_dim) by its positions (RoPE, Su et al. 2021, arXiv 2104.09864).

    Feature i of the first half and feature i of the second half are a point in a plane, turned by
    position * frequency i. The dot product of two turned vectors depends on their distance alone.
    """
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dropout: float = 0.0,
    causal: bool = True,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return for each query the mean of the values, weighted by softmax(q k / sqrt(hd)).

    q (B, h, S, hd); k and v (B, k, P, hd), of which each serves h / k heads of queries.
    mask: (…, S, P), True where a query may look; it takes the place of `causal`.
    """
    if q.shape[1] != k.shape[1]:
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    causal = causal and mask is None
    return F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal=causal)


class Attention(nn.Module):
    """Causal self-attention with grouped queries: (B, S, d) -> (B, S, d).

    Each of the k key-value heads serves h / k query heads (arXiv 2305.13245): k = h is the usual
    attention, k = 1 is multi-query attention. `mix` is `attend`; with a sequence that is cut over
    ranks, another function takes its place.
    """

    def __init__(self, config: Config):
        super().__init__()
        self.head_dim = config.head_dim
        self.dropout_prob = config.dropout_prob
        self.mix = attend
        queries = config.num_heads * config.head_dim
        keys = config.num_kv_heads * config.head_dim
        self.q_proj = nn.Linear(config.dmodel, queries, bias=False)
        self.k_proj = nn.Linear(config.dmodel, keys, bias=False)
        self.v_proj = nn.Linear(config.dmodel, keys, bias=False)
        self.o_proj = nn.Linear(queries, config.dmodel, bias=False)

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, past: list | None = None
    ) -> torch.Tensor:
        """Attend to x and to what stands before it.

        past: the keys and values of the positions before x, two tensors (B, k, P, hd), or an empty
            list; those of x are appended to it in place. None keeps nothing.
        """
        # From the projections' own shapes: a rank may hold some of the heads and of the positions.
        q, k, v = (
            p(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        continued = bool(past)
        if continued:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        if past is not None:
            past[:] = k, v
        dropout = self.dropout_prob if self.training else 0.0
        # One token after others may see all of them, so only the first call needs the mask.
        mixed = self.mix(q, k, v, dropout=dropout, causal=not continued)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    """Gated feed-forward (Shazeer 2020, arXiv 2002.05202): (B, S, d) -> (B, S, d).

    down(silu(gate(x)) * up(x)), which is hidden_dim wide in between.
    """

    def __init__(self, config: Config):
        super().__init__()
        self.gate_proj = nn.Linear(config.dmodel, config.hidden_dim, bias=False)
        self.up_proj = nn.Linear(config.dmodel, config.hidden_dim, bias=False)
        self.down_proj = nn.Linear(config.hidden_dim, config.dmodel, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    """One layer: attention, then feed-forward; each reads normalized input and adds to it."""

    def __init__(self, config: Config):
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = SwiGLU(config)
        self.input_layernorm = RMSNorm(config.dmodel, config.norm_eps)
        self.post_attention_layernorm = RMSNorm(config.dmodel, config.norm_eps)

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, past: list | None = None
    ) -> torch.Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, past)
        return x + self.mlp(self.post_attention_layernorm(x))


class Stage(nn.Module):
    """Some blocks of a model, with or without its two ends: what every class of ours is.

    It's built of a `Config`, or of its sizes by name and place, as `takes` lists them. Weights are
    drawn on the CPU and then moved, so a seed means the same model on every device.
    """

    takes: Signature
    begins = ""  # the embedding's name, where there is one
    ends: tuple[str, ...] = ()  # "norm", "lm_head": what follows the blocks
    first_layer = 0  # the place of layers.0 in the whole model; `slice_stage` sets it
    de_embed = False  # of a first stage: whether it has a head too

    def __init_subclass__(cls):
        cls.__signature__ = cls.takes

    def __init__(self, *sizes, **named):
        super().__init__()
        if sizes and isinstance(sizes[0], Config):
            self.config, device = sizes[0], named["device"]
        else:
            given = arguments(self.takes, sizes, named)
            self.config, device = configured(given), given["device"]
            self.de_embed = given.get("de_embed", False)
        with torch.device("meta"):  # shapes only: no memory yet, and no random numbers
            if self.begins:
                setattr(self, self.begins, embedding(self.config))
            self.layers = nn.ModuleList(Block(self.config) for _ in range(self.config.n_layers))
            self.add_ends(*self.ends)
        draw(self, pick(device))

    def add_ends(self, *names: str) -> None:
        config = self.config
        if "norm" in names:
            self.norm = RMSNorm(config.dmodel, config.norm_eps)
        if "lm_head" in names:
            self.lm_head = nn.Linear(config.dmodel, config.vocab_size, bias=False)

    def read(self, ids: torch.Tensor, *where) -> torch.Tensor:
        """Run ids (B, S) through embedding and blocks: (B, S, dmodel)."""
        if ids.dim() != 2:
            words = "token ids must have the shape (batch, sequence) and these have"
            cure = "one sequence is a batch of one, ids.unsqueeze(0)"
            raise ValueError(f"{words} {tuple(ids.shape)}: {cure}.")
        check_tokens(ids, self.config.vocab_size)
        return self.run_layers(getattr(self, self.begins)(ids), *where)

    def run_layers(
        self, x: torch.Tensor, past: list[list] | None = None, positions: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Run hidden states through all blocks: (B, S, dmodel) -> (B, S, dmodel).

        past: for each block the keys and values of the positions before x (see `Attention`).
        positions: (S,), where x stands in its sequence; by default it follows what is past.
        """
        if x.dim() != 3 or x.shape[2] != self.config.dmodel:
            words = f"a stage reads hidden states of shape (batch, sequence, {self.config.dmodel})"
            cure = "only the first stage reads token ids, with embed(ids)"
            raise ValueError(f"{words} and got {tuple(x.shape)}: {cure}.")
        before = past[0][0].shape[2] if past and past[0] else 0
        if (length := before + x.shape[1]) > (most := self.config.ctx_size):
            words = f"a sequence of {length} tokens is longer than the model's context of {most}"
            raise ValueError(f"{words}: cut it, or build the model with a larger ctx_size.")
        if positions is None:
            positions = before + torch.arange(x.shape[1], device=x.device)
        cos, sin = rope_table(self.config.rope, self.config.head_dim, x, positions)
        for number, layer in enumerate(self.layers):
            x = layer(x, cos, sin, past[number] if past is not None else None)
        return x


def embedding(config: Config) -> nn.Embedding:
    """Return an embedding that hasn't drawn its weights.

    `nn.Embedding(…)` would draw them, and on the meta device that imports torch's compiler: 1.3 s.
    """
    table = torch.empty(config.vocab_size, config.dmodel)
    return nn.Embedding.from_pretrained(table, False, config.padding_idx)


def draw(module: nn.Module, device: torch.device) -> None:
    """Allocate a module that was built on the meta device, draw its weights, and move it."""
    if device.type != "meta":
        # As `to_empty` does, whose `empty_like` imports sympy for a tensor of the meta device.
        module._apply(lambda old: torch.empty(old.shape, dtype=old.dtype, device="cpu"))
        module.apply(draw_weights).to(device)


def draw_weights(module: nn.Module) -> None:
    """Draw the weights of one module, for `model.apply(draw_weights)`: N(0, 0.02), norms at 1.

    The embedding of the padding token is zero, and stays zero because it gets no gradient.
    """
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        nn.init.zeros_(module.weight[module.padding_idx])
    if isinstance(module, RMSNorm):
        nn.init.ones_(module.weight)
