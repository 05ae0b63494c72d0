"""What a stage keeps of a micro-batch until its backward pass: how many, and how many bytes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch


@dataclass
class Alive:
    """The micro-batches whose activations a rank keeps, counted for each stage.

    kept: from F until B or W. in_flight: from F until B or I. most_...: the most until now.
    row_bytes: by stage, the bytes that one row of the batch keeps; known where it was measured.
    """

    kept: dict[tuple[int, int], int] = field(default_factory=dict)  # (stage, micro-batch): rows
    in_flight: int = 0
    most_kept: int = 0
    most_in_flight: int = 0
    row_bytes: dict[int, float] = field(default_factory=dict)

    def begins(self, stage: int, micro_batch: int, rows: int) -> None:
        self.kept[stage, micro_batch] = rows
        self.in_flight += 1
        self.most_kept = max(self.most_kept, len(self.kept))
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def ends(self, kind: str, stage: int, micro_batch: int) -> None:
        """After B, I or W."""
        if kind in "BI":
            self.in_flight -= 1
        if kind in "BW":
            del self.kept[stage, micro_batch]

    def bytes(self) -> float:
        """Of all that is kept, after what one micro-batch of each stage was measured to keep."""
        return sum(rows * self.row_bytes.get(stage, 0.0) for (stage, _), rows in self.kept.items())


@contextmanager
def saved_bytes(stage: torch.nn.Module) -> Iterator[Callable[[], int]]:
    """Count the bytes that autograd keeps of what is computed inside the `with`.

    Weights do not count, and what is kept twice counts once.
    """
    weights = {p.untyped_storage().data_ptr() for p in stage.parameters()}
    seen: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            seen[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # itself would keep the graph in a circle

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        yield lambda: sum(seen.values())
