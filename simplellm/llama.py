"""LLaMA, the whole model; its pipeline stages and how to cut it can be imported from here too.

Weight names are those of Hugging Face's LlamaForCausalLM.

Shapes: ids (B, S) are token numbers; hidden states (B, S, dmodel); logits (B, S, vocab_size).
"""

from dataclasses import replace

import torch
from torch import nn

from simplellm import generation
from simplellm.blocks import Stage, draw
from simplellm.config import arguments, signature
from simplellm.devices import pick
from simplellm.slicing import slice_stage, slice_stages, whole_name
from simplellm.stages import LLamaFirstStage, LLamaLastStage, LLamaStage

__all__ = [
    "CausalLLama",
    "LLama",
    "LLamaFirstStage",
    "LLamaLastStage",
    "LLamaStage",
    "slice_stage",
    "slice_stages",
    "whole_name",
]

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

    Raises:
        ValueError: sizes that do not fit together; in forward, a token outside the vocabulary or a
            sequence longer than ctx_size.
    """

    begins, ends = "embed_tokens", ("norm",)
    takes = signature(f"{SIZES} theta rope_parameters", "vocab_size")

    def forward(
        self,
        ids: torch.Tensor,
        past: list[list] | None = None,
        positions: torch.Tensor | None = None,
    ) -> torch.Tensor:
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
            raise TypeError(
                f"the first argument of LLama is the class of its body, not {mdl_type!r}: write "
                "LLama(CausalLLama, vocab_size, ...)."
            )
        given = arguments(self.takes, (mdl_type, *sizes), named)
        shared = given.pop("shared")
        self.model = given.pop("mdl_type")(**given)
        config = self.config = replace(self.model.config, shared=shared)
        self.max_seq = config.ctx_size
        with torch.device("meta"):
            self.lm_head = nn.Linear(config.dmodel, config.vocab_size, bias=False)
        if shared:
            self.tie()
        else:
            draw(self.lm_head, pick(given["device"]))

    @property
    def device(self) -> torch.device:
        return self.lm_head.weight.device

    def tie(self) -> None:
        """Let the head use the embedding's tensor."""
        self.lm_head.weight = self.model.embed_tokens.weight

    def forward(self, ids: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
        where = {} if positions is None else {"positions": positions}
        return self.lm_head(self.model(ids, **where))

    def generate(self, prompt_ids, max_new_tokens: int = 100, **how) -> list:
        """Continue a prompt; the settings are those of `simplellm.generation.generate`."""
        return generation.generate(self, prompt_ids, max_new_tokens, **how)
