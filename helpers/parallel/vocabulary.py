"""The two ends of a language model, cut along the vocabulary: embedding and cross-entropy.

The logits, (B, S, V), are the largest tensor of a step. Here no rank ever holds all of them: the
ranks exchange only a maximum, a sum and the target's logit for each position.
"""

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from helpers.parallel.collectives import place_in, size_of, summed
from helpers.parallel.context import IGNORED
from helpers.parallel.linear import part_parameter
from helpers.parallel.operators import reduce_from_group


class VocabularyParallelEmbedding(nn.Module):
    """An embedding cut along the vocabulary: ids (…) -> (…, d), equal on all ranks.

    whole: the embedding to cut, the same on all ranks. weight: (V / ranks, d).
    A rank contributes zeros for a token that another rank holds, so the sum is the token's row.

    Raises:
        ValueError: if the number of ranks does not divide the vocabulary.
    """

    def __init__(self, whole: nn.Embedding, group: Any = None):
        super().__init__()
        self.group = group
        self.weight = part_parameter(whole.weight, group, 0)
        self.first = place_in(group) * len(self.weight)
        self.padding_idx = whole.padding_idx  # its row gets no gradient, as in the whole embedding

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        here = ids - self.first
        mine = (here >= 0) & (here < len(self.weight))
        rows = F.embedding(here.where(mine, 0), self.weight)
        if self.padding_idx is not None:
            rows = rows.where((ids != self.padding_idx)[..., None], rows.detach())
        return reduce_from_group(rows * mine[..., None], self.group)


def parallel_cross_entropy(
    logits: torch.Tensor, targets: torch.Tensor, group: Any = None
) -> torch.Tensor:
    """Return the mean cross-entropy in nats, equal on all ranks, from logits cut by class.

    logits: (…, V / ranks), the classes of this rank, in the order of the ranks.
    targets: (…), ids in the whole vocabulary, equal on all ranks; -100 is skipped.
    If no target is left, the loss and its gradient are 0. Half precision is computed in float32.

    Raises:
        ValueError: if the shapes do not fit, or a target is outside the vocabulary.
    """
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"logits (…, classes) and targets (…) do not fit: {tuple(logits.shape)} and "
            f"{tuple(targets.shape)}"
        )
    classes = logits.shape[-1] * size_of(group)
    counts = targets != IGNORED
    outside = counts & ((targets < 0) | (targets >= classes))
    if outside.any():
        raise ValueError(
            f"target {targets[outside][0].item()} is outside the vocabulary of {classes} tokens: "
            "give the targets as ids in the whole vocabulary"
        )
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    losses = _CrossEntropy.apply(wide, targets.where(counts, 0), group)
    return losses.where(counts, 0).sum() / counts.sum().clamp(min=1)


class _CrossEntropy(torch.autograd.Function):
    """For each position, log-sum-exp minus the target's logit; backward needs no communication."""

    @staticmethod
    def forward(ctx, logits: torch.Tensor, targets: torch.Tensor, group: Any) -> torch.Tensor:
        largest = logits.detach().amax(-1)
        if size_of(group) > 1:  # subtracted, so that no exp is too large
            dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=group)
        shifted = logits - largest[..., None]
        here = targets - place_in(group) * logits.shape[-1]
        mine = (here >= 0) & (here < logits.shape[-1])
        here = here.where(mine, 0)[..., None]
        exps = shifted.exp()
        picked = shifted.gather(-1, here)[..., 0] * mine
        total, right = summed(torch.stack([exps.sum(-1), picked]), group)
        ctx.save_for_backward(exps / total[..., None], here, mine)
        return total.log() - right

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        softmax, here, mine = ctx.saved_tensors
        found = softmax.scatter_add(-1, here, -mine[..., None].to(softmax.dtype))
        return found * gradient[..., None], None, None
