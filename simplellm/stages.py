"""The stages of a pipeline: the first, those in the middle, and the last.

Stages that are drawn one by one aren't the whole model of the same seed, because they use the
random numbers in another order. To compare layouts, draw one whole model and cut it
(`simplellm.slicing`).
"""

import torch

from simplellm.blocks import Stage, draw
from simplellm.config import signature
from simplellm.devices import say_once


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
            raise RuntimeError(
                "this first stage has no final norm and head: build it with de_embed=True, or run "
                "them in a LLamaLastStage."
            )
        if self.lm_head is None:
            self.make_head()
            if torch.is_grad_enabled():
                say_once(
                    "forward_end has just made its final norm and head; an optimizer built before "
                    "does not train them: call make_head() first."
                )
        return self.lm_head(self.norm(x))


class LLamaStage(Stage):
    """A stage in the middle of a pipeline: blocks alone, (B, S, dmodel) -> (B, S, dmodel).

    Arguments: see `CausalLLama`. There is no embedding here, so padding_idx does nothing.
    """

    takes = signature(
        "dmodel num_heads hidden_dim norm_eps dropout_prob ctx_size n_layers head_dim "
        "num_kv_heads padding_idx device linear_implementation theta rope_parameters",
        n_layers=4,
    )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.run_layers(x)


class LLamaLastStage(Stage):
    """The last stage of a pipeline: blocks, final norm and head.

    (B, S, dmodel) -> logits (B, S, vocab_size).
    Arguments: see `CausalLLama`. There is no embedding here, so padding_idx does nothing.
    """

    ends = "norm", "lm_head"
    takes = signature(
        "vocab_size dmodel num_heads hidden_dim norm_eps dropout_prob head_dim ctx_size n_layers "
        "num_kv_heads padding_idx device linear_implementation theta rope_parameters",
        "vocab_size",
        n_layers=4,
    )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lm_head(self.norm(self.run_layers(x)))
