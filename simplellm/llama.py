"""LLaMA: the whole model, and the first, middle and last stage of a pipeline.

Weight names are those of Hugging Face's LlamaForCausalLM.

Shapes: ids (B, S) are token numbers; hidden states (B, S, dmodel); logits (B, S, vocab_size).

Stages that are drawn one by one aren't the whole model of the same seed, because they use the
random numbers in another order. To compare layouts, draw one whole model and cut it
(`simplellm.slicing`).
"""

from dataclasses import replace

import torch
from torch import nn

from simplellm import generation
from simplellm.blocks import Stage, draw
from simplellm.config import arguments, signature
from simplellm.devices import pick, say_once

SIZES = (
    "vocab_size dmodel num_heads hidden_dim norm_eps dropout_prob head_dim ctx_size num_kv_heads "
    "padding_idx device n_layers"
)


class CausalLLama(Stage):
    """The body of a model: embedding, blocks and final norm, ids (B, S) -> (B, S, dmodel).

    Args:
        hidden_dim: width of the feed-forward part, by default 4 * dmodel.
        dropout_prob: dropout of attention weights while training.
        head_dim: features per head, by default dmodel / num_heads.
        ctx_size: the longest sequence that is accepted.
        num_kv_heads: key-value heads, by default num_heads.
        padding_idx: a token whose embedding is zero and is not trained; None or negative for none.
        device: see `simplellm.devices.pick`; "meta" gives the shapes without the memory.
        theta, rope_parameters: see `simplellm.config.rope_settings`.
    """

    begins, ends = "embed_tokens", ("norm",)
    takes = signature(f"{SIZES} theta rope_parameters", "vocab_size")

    def forward(self, ids: torch.Tensor, past=None, positions=None) -> torch.Tensor:
        return self.norm(self.read(ids, past, positions))


class LLama(nn.Module):
    """A whole language model: ids (B, S) -> logits (B, S, vocab_size).

    `mdl_type` is the class of the body, such as `CausalLLama`, which explains the other arguments.
    `shared=True` ties embedding and head: one tensor, trained by both uses. Another base for the
    rotary positions: rope_parameters={"rope_theta": 500000.0}.

    >>> net = LLama(CausalLLama, 1024, dmodel=64, num_heads=4, n_layers=2, ctx_size=128)
    >>> net(torch.zeros(3, 128, dtype=torch.long)).shape
    torch.Size([3, 128, 1024])
    """

    takes = signature(f"mdl_type {SIZES} shared rope_parameters", "vocab_size")
    __signature__ = takes

    def __init__(self, mdl_type: type[nn.Module], *sizes, **named):
        super().__init__()
        if not isinstance(mdl_type, type):
            words = f"the first argument of LLama is the class of its body, not {mdl_type!r}"
            raise TypeError(f"{words}: write LLama(CausalLLama, vocab_size, ...).")
        given = arguments(self.takes, (mdl_type, *sizes), named)
        shared = given.pop("shared")
        self.model = given.pop("mdl_type")(**given)
        config = self.config = replace(self.model.config, shared=shared)
        self.max_seq = config.ctx_size
        with torch.device("meta"):
            self.lm_head = nn.Linear(config.dmodel, config.vocab_size, bias=False)
        if shared:
            self.lm_head.weight = self.model.embed_tokens.weight
        else:
            draw(self.lm_head, pick(given["device"]))

    @property
    def device(self) -> torch.device:
        return self.lm_head.weight.device

    def forward(self, ids: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
        where = {} if positions is None else {"positions": positions}
        return self.lm_head(self.model(ids, **where))

    def generate(self, prompt_ids, max_new_tokens: int = 100, **how) -> list[int]:
        """Continue a prompt; the settings are those of `simplellm.generation.generate`."""
        return generation.generate(self, prompt_ids, max_new_tokens, **how)


class LLamaFirstStage(Stage):
    """The first stage of a pipeline, embedding and blocks: `embed(ids)`, (B, S) -> (B, S, dmodel).

    Some layouts bring the hidden states back to this stage, which then also ends the model:
    `forward_end(x)` is head(norm(x)), (B, S, dmodel) -> logits (B, S, vocab_size).

    In a plain pipeline that norm and head never run, and the head is as large as the embedding.
    So with `de_embed=True` they are built when they are needed: at once if `n_layers=0` (only the
    two ends) or `share_weights=True` (the head is the embedding's tensor), otherwise at the
    first `forward_end`. That is too late for an optimizer that exists already, and a line on stderr
    says so: call `make_head()` before you build it. With `de_embed=False` there is no head at all.

    Other arguments: see `CausalLLama`.
    """

    begins = "_embedding"
    takes = signature(
        "vocab_size dmodel num_heads n_layers hidden_dim norm_eps dropout_prob ctx_size "
        "num_kv_heads head_dim padding_idx device linear_implementation share_weights theta "
        "de_embed rope_parameters",
        *("vocab_size", "dmodel", "num_heads"),
        n_layers=4,
    )

    def __init__(self, *sizes, **named):
        super().__init__(*sizes, **named)
        self.norm = self.lm_head = None
        if self.de_embed and (self.config.n_layers == 0 or self.config.shared):
            self.make_head()

    def make_head(self) -> None:
        """Build the final norm and head that `forward_end` runs, unless they exist."""
        if self.lm_head is not None:
            return
        table = self._embedding.weight
        with torch.device("meta"):
            self.add_ends("norm", "lm_head")
        draw(self.norm, table.device)
        if self.config.shared:
            self.lm_head.weight = table
        else:
            draw(self.lm_head, table.device)
        self.to(table.dtype)

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        return self.read(ids)

    forward = embed

    def forward_end(self, x: torch.Tensor) -> torch.Tensor:
        if not self.de_embed:
            words = "this first stage has no final norm and head"
            cure = "build it with de_embed=True, or run them in a LLamaLastStage"
            raise RuntimeError(f"{words}: {cure}.")
        if self.lm_head is None:
            self.make_head()
            if torch.is_grad_enabled():
                made = (
                    "forward_end has just made its final norm and head; an optimizer built before"
                )
                say_once(f"{made} does not train them: call make_head() first.")
        return self.lm_head(self.norm(x))


class LLamaStage(Stage):
    """A stage in the middle of a pipeline: blocks alone, (B, S, dmodel) -> (B, S, dmodel)."""

    takes = signature(
        "dmodel num_heads hidden_dim norm_eps dropout_prob ctx_size n_layers head_dim "
        "num_kv_heads padding_idx device linear_implementation theta rope_parameters",
        n_layers=4,
    )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.run_layers(x)


class LLamaLastStage(Stage):
    """The last stage: blocks, final norm and head, (B, S, dmodel) -> logits (B, S, vocab_size)."""

    ends = "norm", "lm_head"
    takes = signature(
        "vocab_size dmodel num_heads hidden_dim norm_eps dropout_prob head_dim ctx_size n_layers "
        "num_kv_heads padding_idx device linear_implementation theta rope_parameters",
        "vocab_size",
        n_layers=4,
    )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lm_head(self.norm(self.run_layers(x)))
