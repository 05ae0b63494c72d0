"""Cut a batch into micro-batches, and count the tokens by which each of them weighs."""

from collections.abc import Sequence

import torch

IGNORED = -100  # the target that torch's cross_entropy leaves out

Batch = torch.Tensor | Sequence[torch.Tensor]


def cut(batch: Batch, micro_batches: int, what: str) -> list[torch.Tensor]:
    """The micro-batches of a batch (B, ...): cut along the first dimension, sizes equal or one off.

    A list of tensors is a batch that is cut already. what: "inputs" or "targets", for the words.
    Raises ValueError for fewer rows than micro-batches, or a list of another length.
    """
    if isinstance(batch, torch.Tensor):
        if batch.dim() == 0 or len(batch) < micro_batches:
            rows = 0 if batch.dim() == 0 else len(batch)
            raise ValueError(
                f"the {what} have {_many(rows, 'row')} and the schedule cuts the batch into "
                f"{_many(micro_batches, 'micro-batch', 'es')}: give at least one row for each, or "
                "take a schedule with fewer micro-batches"
            )
        return list(batch.tensor_split(micro_batches))
    parts = list(batch)
    if len(parts) != micro_batches:
        raise ValueError(
            f"the {what} are a list of {len(parts)} and the schedule has "
            f"{_many(micro_batches, 'micro-batch', 'es')}: give one tensor for each, or the whole "
            "batch as one tensor"
        )
    return parts


def count_targets(targets: torch.Tensor) -> int:
    """How many targets count: all, but for whole numbers those that are -100."""
    if targets.is_floating_point():
        return targets.numel()
    return int((targets != IGNORED).sum())


def count_next_tokens(targets: torch.Tensor) -> int:
    """The same for a loss that compares position i with token i + 1 of targets (B, S).

    The first token of a sequence is predicted by nobody, and does not count.
    """
    return count_targets(targets[:, 1:])


def _many(count: int, what: str, ending: str = "s") -> str:
    return f"{count} {what}{'' if count == 1 else ending}"
