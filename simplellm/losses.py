"""The loss of training, perplexity, and checks that tokens are tokens and a loss is a number."""

import math

import torch
import torch.nn.functional as F

IGNORED = -100  # the target value that torch and transformers skip


def causalLLMLoss(
    logits: torch.Tensor, target: torch.Tensor, vocab_size: int, pad_idx: int = IGNORED
) -> torch.Tensor:
    """Return the mean cross-entropy, in nats per token, of predicting each next token.

    Args:
        logits: (B, S, vocab_size). Half precision is computed in float32.
        target: the ids that went into the model, (B, S), not shifted: the logits at position i are
            compared with token i + 1. Moved to the device of the logits.
        pad_idx: a target that does not count.

    Returns:
        A scalar, float32 (float64 for float64 logits): the mean over the B * (S - 1) positions that
        have a next token, without those whose next token is `pad_idx`. With none left it is 0, with
        gradient 0, so that a micro-batch of padding adds nothing to the others.
    """
    if (classes := logits.shape[-1]) != vocab_size:
        words = f"the logits have {classes} classes and vocab_size is {vocab_size}"
        raise ValueError(f"{words}: pass the vocab_size that the model was built with.")
    target = _fitting(logits, target, pad_idx)
    # Shifting the targets instead of the logits saves a copy of the largest tensor of the step.
    following = F.pad(target.long(), (0, 1), value=pad_idx)[:, 1:].flatten()
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32)).flatten(0, 1)
    total = F.cross_entropy(wide, following, ignore_index=pad_idx, reduction="sum")
    return total / (following != pad_idx).sum().clamp(min=1)


@torch.no_grad()
def perplexityLoss(
    logits: torch.Tensor, target: torch.Tensor, attention_mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the perplexity: exp of each sequence's mean cross-entropy, averaged over the batch.

    It is the number of tokens that an equally unsure model would choose among at random; it is
    for reading, and carries no gradient. Sequences without a token that counts are left out; none
    left gives nan.

    Args:
        logits, target: as in `causalLLMLoss`; a target of -100 does not count.
        attention_mask: (B, S), 1 where the token counts and 0 where it is padding. None: all count.
    """
    following = _fitting(logits, target, IGNORED)[:, 1:].long()
    if attention_mask is not None:
        padding = ~attention_mask.to(logits.device)[:, 1:].bool()
        following = following.masked_fill(padding, IGNORED)
    losses = F.cross_entropy(
        logits[:, :-1].transpose(1, 2).float(), following, ignore_index=IGNORED, reduction="none"
    )
    lengths = (following != IGNORED).sum(1)
    return (losses.sum(1) / lengths).exp()[lengths > 0].mean()


def check_finite(loss: torch.Tensor | float, step: int) -> float:
    """Return the loss as a Python number; raise FloatingPointError if it is nan or infinite."""
    value = loss.item() if isinstance(loss, torch.Tensor) else loss
    if not math.isfinite(value):
        cure = "lower the learning rate (--lr) and start again, because the weights are of no use"
        raise FloatingPointError(f"the loss became {value} at step {step}: {cure} any more.")
    return value


def check_tokens(ids: torch.Tensor, vocab_size: int, ignore: int | None = None) -> None:
    """Raise ValueError if a token of `ids` (batch, sequence) is not in 0 … vocab_size - 1.

    The value `ignore` is allowed. On the CPU this takes microseconds. On a GPU every step would
    wait until the GPU has caught up, so there nothing is checked.
    """
    if ids.numel() == 0 or not ids.is_cpu:
        return
    low, high = ids.aminmax()
    if low >= 0 and high < vocab_size:
        return
    outside = (ids < 0) | (ids >= vocab_size)
    if ignore is not None:
        outside &= ids != ignore
    if outside.any():
        row, column = outside.nonzero()[0].tolist()
        words = f"token {ids[row, column].item()} at row {row}, column {column} is outside the"
        words += f" vocabulary of {vocab_size} tokens (0 to {vocab_size - 1})"
        raise ValueError(f"{words}: use the tokenizer that the model was built for.")


def _fitting(logits: torch.Tensor, target: torch.Tensor, ignore: int) -> torch.Tensor:
    if logits.dim() != 3 or logits.shape[:2] != target.shape:
        words = "logits (batch, sequence, vocabulary) and target (batch, sequence) do not fit"
        raise ValueError(f"{words}: {tuple(logits.shape)} and {tuple(target.shape)}.")
    target = target.to(logits.device)
    check_tokens(target, logits.shape[-1], ignore)
    return target
