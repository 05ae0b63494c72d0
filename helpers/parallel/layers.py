"""The layers in parts: linear ones along outputs or inputs, and the two ends along the vocabulary.

Megatron-LM writes y = x A and cuts the columns of A. torch stores the transpose, weight (out, in),
so a column-parallel layer holds rows of torch's weight. Of the logits, (B, S, V), the largest
tensor of a step, no rank ever holds all: the ranks exchange only a maximum, a sum and the target's
logit for each position. The number of ranks must divide what is cut, or ValueError says so.

Sequence parallelism cuts the activations between those layers along the sequence, so that no rank
keeps norms and residuals for all of it. The communication volume stays: an all-gather and a
reduce-scatter together send what an all-reduce sends.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from helpers.parallel.context import IGNORED
from helpers.parallel.operators import (
    add_up,
    all_gather,
    copy_to_group,
    gather_from_group,
    part_of,
    place_in,
    reduce_from_group,
    reduce_scatter,
    size_of,
    split_to_group,
)

SEQUENCE = 1  # the dimension of (B, S, d) that sequence parallelism cuts


class ColumnParallelLinear(nn.Module):
    """This rank's outputs of a linear layer: (…, in), equal on all ranks, -> (…, out / ranks).

    whole: the layer to cut, the same on all ranks. weight: (out / ranks, in).
    sequence: x is this rank's part of the sequence, (B, S / ranks, in); y covers the whole one.
    """

    def __init__(self, whole: nn.Linear, group: Any = None, sequence: bool = False):
        super().__init__()
        self.group, self.sequence = group, sequence
        self.weight = part_parameter(whole.weight, group, 0)
        self.bias = None if whole.bias is None else part_parameter(whole.bias, group, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = all_gather(x, self.group, SEQUENCE) if self.sequence else copy_to_group(x, self.group)
        return F.linear(x, self.weight, self.bias)


class RowParallelLinear(nn.Module):
    """A linear layer whose input is cut: (…, in / ranks) -> (…, out), equal on all ranks.

    whole: the layer to cut. weight: (out, in / ranks); bias: whole, added after the sum, because
    the sum would otherwise contain it once per rank.
    sequence: y is this rank's part of the sequence, (B, S / ranks, out). Each rank then sees the
    bias at its own positions only, so its gradient is one term of a sum: see `add_up_shared`.
    """

    def __init__(self, whole: nn.Linear, group: Any = None, sequence: bool = False):
        super().__init__()
        self.group, self.sequence = group, sequence
        self.weight = part_parameter(whole.weight, group, 1)
        self.bias = None if whole.bias is None else nn.Parameter(whole.bias.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, group = F.linear(x, self.weight), self.group
        y = reduce_scatter(y, group, SEQUENCE) if self.sequence else reduce_from_group(y, group)
        return y if self.bias is None else y + self.bias


def part_parameter(whole: torch.Tensor, group: Any, dim: int) -> nn.Parameter:
    """Return this rank's part of a weight, as a parameter with its own memory."""
    return nn.Parameter(part_of(whole.detach(), group, dim).clone(), whole.requires_grad)


class VocabularyParallelEmbedding(nn.Module):
    """An embedding cut along the vocabulary: ids (…) -> (…, d), equal on all ranks.

    whole: the embedding to cut, the same on all ranks. weight: (V / ranks, d).
    A rank contributes zeros for a token that another rank holds, so the sum is the token's row.
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
    largest = wide.detach().amax(-1, keepdim=True)
    if size_of(group) > 1:  # subtracted, so that no exp is too large
        dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=group)
    shifted = wide - largest
    here = targets - place_in(group) * logits.shape[-1]
    mine = (here >= 0) & (here < logits.shape[-1])
    picked = shifted.gather(-1, here.where(mine, 0)[..., None])[..., 0] * mine
    # Every rank goes on with the same two sums, so backward needs no message.
    total, right = reduce_from_group(torch.stack([shifted.exp().sum(-1), picked]), group)
    losses = (total.log() - right).where(counts, 0)
    return losses.sum() / counts.sum().clamp(min=1)


def sequence_parallel(
    blocks: Iterable[nn.Module], group: Any = None, ends_here: bool = True
) -> None:
    """Split the sequence before the first block and gather it after the last one.

    blocks: modules whose first argument and result are hidden states (B, S, d), in order, of a
        model that was cut with sequence=True. S must be a multiple of the number of ranks.
    ends_here: what follows the last block needs the whole sequence, and computes the same on every
        rank. False: a column-parallel layer follows, which gathers the sequence itself.
    """
    blocks = list(blocks)

    def split(module: nn.Module, args: tuple) -> tuple:
        return split_to_group(args[0], group, SEQUENCE), *args[1:]

    def gather(module: nn.Module, args: tuple, y: torch.Tensor) -> torch.Tensor:
        return gather_from_group(y, group, SEQUENCE)

    blocks[0].register_forward_pre_hook(split)
    if ends_here:
        blocks[-1].register_forward_hook(gather)


def add_up_shared(model: nn.Module, group: Any, between: Callable[[str], bool]) -> None:
    """Sum the gradients of the weights that work on parts of the sequence, over all ranks.

    A norm sees this rank's positions only, so its gradient is one term of the sum; without the sum
    the ranks' copies drift apart. Call it once, after backward and before the optimizer's step.
    between: returns whether a parameter of this name is such a weight: whole, applied to parts.
    """
    shared = [p for name, p in model.named_parameters() if between(name)]
    add_up([p.grad for p in shared if p.grad is not None], group)
