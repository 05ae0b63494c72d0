"""Wrong input, found before the model runs: one sentence that says what, where, and what to do."""

import os

import torch

INTEGERS = (torch.int64, torch.int32)


def check_ids(ids: torch.Tensor, vocab_size: int, ctx_size: int) -> None:
    """Raise unless `ids` is a (batch, sequence) tensor of tokens that the model can read.

    Raises:
        TypeError: not int64 or int32.
        ValueError: not two dimensions, longer than `ctx_size`, or a token outside the vocabulary.
    """
    if not isinstance(ids, torch.Tensor):
        raise TypeError(f"token ids must be a tensor and not a {type(ids).__name__}.")
    if ids.dtype not in INTEGERS:
        raise TypeError(f"token ids must be torch.int64 and these are {ids.dtype}: use ids.long().")
    if ids.dim() != 2:
        raise ValueError(
            f"token ids must have the shape (batch, sequence) and these have {tuple(ids.shape)}: "
            "one sequence is a batch of one, ids.unsqueeze(0)."
        )
    check_length(ids.shape[1], ctx_size)
    check_tokens(ids, vocab_size)


def check_length(length: int, ctx_size: int) -> None:
    """Raise ValueError if a sequence is longer than the model's context."""
    if length > ctx_size:
        raise ValueError(
            f"a sequence of {length} tokens is longer than the model's context of {ctx_size}: cut "
            "it, or build the model with a larger ctx_size."
        )


def check_tokens(ids: torch.Tensor, vocab_size: int, ignore: int | None = None) -> None:
    """Raise ValueError if a token of `ids` (batch, sequence) is not in 0 … vocab_size - 1.

    The value `ignore` is allowed. On the CPU this takes microseconds. On a GPU it would wait until
    the GPU has caught up, which slows down every step, so there the check runs only with
    SIMPLELLM_CHECK=1 in the environment.
    """
    asked_for = not ids.is_meta and os.environ.get("SIMPLELLM_CHECK") == "1"
    if ids.numel() == 0 or not (ids.is_cpu or asked_for):
        return
    low, high = ids.aminmax()
    if low >= 0 and high < vocab_size:
        return
    outside = (ids < 0) | (ids >= vocab_size)
    if ignore is not None:
        outside &= ids != ignore
    if outside.any():
        row, column = outside.nonzero()[0].tolist()
        raise ValueError(
            f"token {ids[row, column].item()} at row {row}, column {column} is outside the "
            f"vocabulary of {vocab_size} tokens (0 to {vocab_size - 1}): use the tokenizer that "
            "the model was built for."
        )
