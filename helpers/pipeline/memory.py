"""What a stage keeps of a micro-batch until its backward pass: how many, and how many bytes."""

from dataclasses import dataclass, field


@dataclass
class Alive:
    """The micro-batches whose activations a rank keeps, counted for each stage.

    kept: from F until B or W. in_flight: from F until B or I. most_...: the most until now.
    row_bytes: by stage, the bytes that one row of the batch keeps until B or I; later_bytes: from I
    until W. Known where they were measured.
    """

    kept: dict[tuple[int, int], int] = field(default_factory=dict)  # (stage, micro-batch): rows
    in_flight: int = 0
    most_kept: int = 0
    most_in_flight: int = 0
    row_bytes: dict[int, float] = field(default_factory=dict)
    later_bytes: dict[int, float] = field(default_factory=dict)
    later: set[tuple[int, int]] = field(default_factory=set)  # those between I and W

    def begins(self, stage: int, micro_batch: int, rows: int) -> None:
        self.kept[stage, micro_batch] = rows
        self.in_flight += 1
        self.most_kept = max(self.most_kept, len(self.kept))
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def ends(self, kind: str, stage: int, micro_batch: int) -> None:
        """After B, I or W."""
        if kind in "BI":
            self.in_flight -= 1
        if kind == "I":
            self.later.add((stage, micro_batch))
        else:
            self.later.discard((stage, micro_batch))
            del self.kept[stage, micro_batch]

    def bytes(self) -> float:
        """Of all that is kept, after what one micro-batch of each stage was measured to keep."""
        total = 0.0
        for (stage, micro_batch), rows in self.kept.items():
            later = (stage, micro_batch) in self.later
            total += rows * (self.later_bytes if later else self.row_bytes).get(stage, 0.0)
        return total
