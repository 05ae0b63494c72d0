"""A batch: cut it into micro-batches, count their tokens, and weight their losses by them."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from helpers.pipeline.observers import describe
from helpers.words import many

IGNORED = -100  # the target that torch's cross_entropy leaves out

Batch = Tensor | Sequence[Tensor]
Loss = Callable[[Tensor, Tensor], Tensor]


def split_batch(batch: Batch, micro_batches: int, what: str) -> list[Tensor]:
    """Return the micro-batches of a batch (B, ...).

    A tensor is cut along the first dimension into parts whose sizes differ by at most one row. A
    list of tensors is a batch that is cut already. what: "inputs" or "targets", for the errors.

    Raises:
        ValueError: if there are fewer rows than micro-batches, or a list has another length.
    """
    if isinstance(batch, Tensor):
        if batch.dim() == 0 or len(batch) < micro_batches:
            rows = 0 if batch.dim() == 0 else len(batch)
            raise ValueError(
                f"the {what} have {many(rows, 'row')} and the schedule cuts the batch into "
                f"{many(micro_batches, 'micro-batch', 'es')}: give at least one row for each, or "
                "take a schedule with fewer micro-batches"
            )
        return list(batch.tensor_split(micro_batches))
    parts = list(batch)
    if len(parts) != micro_batches:
        raise ValueError(
            f"the {what} are a list of {len(parts)} and the schedule has "
            f"{many(micro_batches, 'micro-batch', 'es')}: give one tensor for each, or the whole "
            "batch as one tensor"
        )
    return parts


def count_targets(targets: Tensor) -> int:
    """Return how many targets count: all of them, or of integers those other than -100."""
    if targets.is_floating_point():
        return targets.numel()
    return int((targets != IGNORED).sum())


@dataclass
class BatchLoss:
    """The loss of a batch: the mean over the micro-batches, each weighted by its tokens.

    targets, tokens: of each micro-batch, on the rank of the last stage; elsewhere empty.
    losses: of the micro-batches that have been forward.

    Raises:
        ValueError: if no target counts.
    """

    loss: Loss | None
    targets: Sequence[Tensor]
    tokens: tuple[int, ...]
    losses: dict[int, Tensor] = field(default_factory=dict)

    def __post_init__(self):
        if self.targets and sum(self.tokens) <= 0:
            raise ValueError("no target of the batch counts: there is nothing to learn from")
        self.shares = [tokens / sum(self.tokens) for tokens in self.tokens]

    def __call__(self, i: int, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return where the backward of micro-batch i starts, and the gradient to start with.

        x, y: the input and the output of the last stage.
        """
        target = self.targets[i]
        if len(target) != len(x):
            raise ValueError(
                f"micro-batch {i} has {many(len(x), 'row')} of inputs and {len(target)} of "
                "targets: give step() inputs and targets of the same batch"
            )
        if not self.shares[i]:
            # There is nothing to learn from. The mean over no tokens is NaN, and must not spread.
            self.losses[i] = y.new_zeros(())
            return y, torch.zeros_like(y)
        loss = self.loss(y, target.to(y.device))
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            raise ValueError(
                f"the loss returned {describe(loss)} for micro-batch {i}: it must return one "
                "number, the mean over the tokens of the micro-batch"
            )
        self.losses[i] = loss.detach()
        return loss, torch.full_like(loss, self.shares[i])

    def mean(self) -> Tensor | None:
        """Return the loss of the batch once all micro-batches are done; None on other ranks."""
        if not self.losses:
            return None
        return sum(map(operator.mul, (self.losses[i] for i in sorted(self.losses)), self.shares))
