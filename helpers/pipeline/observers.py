"""What watches a step without taking part in it: the trace, the pace, checks and counts.

The executor calls an `Observer` around each action. Nothing here changes what is computed or sent;
a stage whose output can't be sent is refused before the message would go wrong.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import nn

from helpers.pipeline.pace import Pacer
from helpers.pipeline.split_backward import nodes_below, saved_bytes
from helpers.pipeline.transport import DIMENSIONS, DTYPES
from helpers.schedules import Action, facts_of
from helpers.trace import Recorder

if TYPE_CHECKING:
    from helpers.pipeline.executor import SavedForward

Key = tuple[int, int]  # (stage, micro-batch)


class Observer:
    """Watch one step of one rank.

    stages: the stages of this rank. last: the number of the last stage of the pipeline, whose
    output goes into the loss and not into a message.
    """

    def __init__(
        self, recorder: Recorder, pacer: Pacer, stages: Mapping[int, nn.Module], last: int
    ):
        self.recorder, self.pacer, self.stages = recorder, pacer, stages
        self.check = OutputCheck(last)
        self.count = ActivationCount()
        self.ready_at = time.perf_counter()  # when this rank was ready for the next action

    @contextmanager
    def computing(
        self, action: Action, saved: Mapping[Key, "SavedForward"], turn: Sequence[Action] = ()
    ) -> Iterator[None]:
        """Record an action while it computes, check what it returned, and hold it to the pace.

        turn: the actions of its pair, if it has one.
        """
        received_at = time.perf_counter()
        kind, stage, i = action
        with self.recorder.span(kind, **facts_of(action, turn)):
            yield
            if kind == "F":
                self.check(stage, i, saved[stage, i])
            self.pacer.sleep_until_due(action, self.ready_at, received_at)
        self.ready_at = time.perf_counter()  # the second action of a pair follows at once

    def finished(self, action: Action, saved: Mapping[Key, "SavedForward"]) -> None:
        """Count what this rank keeps, now that the action is done and its result is on its way."""
        key = action.stage, action.micro_batch
        if action.kind == "F":
            self.count.add(key, len(saved[key].x))
        else:
            self.count.remove(key, action.kind)
        if self.recorder.enabled:
            if action.kind in ("F", "I"):
                self.count.measure(key, action.kind, lambda: self._bytes(key, saved[key]))
            self.recorder.count("in flight", self.count.in_flight)
            self.recorder.count("memory", self.count.bytes())
        self.ready_at = time.perf_counter()

    def _bytes(self, key: Key, saved: "SavedForward") -> int:
        """Return the bytes that a micro-batch keeps for its backward, or for what is left of it."""
        if saved.y is None:
            nodes = {node for group in saved.branches for node in group.nodes}
        else:
            nodes = nodes_below(saved.y.grad_fn) if saved.y.requires_grad else ()
        return saved_bytes(nodes, self.stages[key[0]])


class OutputCheck:
    """Refuse an output of a stage that the next stage could not receive.

    Raises ValueError for anything but one tensor of floating-point numbers with the rows of its
    input, and for a shape or dtype other than that of the first output of the step.
    """

    def __init__(self, last: int):
        self.last = last
        self.first: dict[int, tuple[tuple[int, ...], torch.dtype]] = {}  # row and dtype, by stage

    def __call__(self, stage: int, micro_batch: int, saved: "SavedForward") -> None:
        y = saved.y
        if stage == self.last:
            return
        if (
            not isinstance(y, torch.Tensor)
            or y.dtype not in DTYPES
            or not 0 < y.dim() <= DIMENSIONS
        ):
            raise ValueError(
                f"stage {stage} returns {describe(y)}: what goes to the next stage must be one "
                f"tensor of floating-point numbers, with 1 to {DIMENSIONS} dimensions"
            )
        row, dtype = self.first.setdefault(stage, (tuple(y.shape[1:]), y.dtype))
        shape = len(saved.x), *row
        if tuple(y.shape) != shape or y.dtype != dtype:
            raise ValueError(
                f"stage {stage} returns {describe(y)} for micro-batch {micro_batch}, and "
                f"{_name(dtype)} of shape {shape} was expected: it must keep the rows of its "
                f"input, {len(saved.x)} here, and return the same dtype and the same other "
                "dimensions for all micro-batches of a step"
            )


@dataclass
class ActivationCount:
    """The micro-batches whose activations a rank keeps, counted for each stage.

    kept: from F until B or W, with their rows. in_flight: how many are kept from F until B or I.
    most_kept, most_in_flight: the most so far. row_bytes: by stage, the bytes that one row of the
    batch keeps from F until B or I; late_row_bytes: from I until W. Both are known once measured.
    """

    kept: dict[Key, int] = field(default_factory=dict)
    late: set[Key] = field(default_factory=set)  # those between I and W
    in_flight: int = 0
    most_kept: int = 0
    most_in_flight: int = 0
    row_bytes: dict[int, float] = field(default_factory=dict)
    late_row_bytes: dict[int, float] = field(default_factory=dict)

    def add(self, key: Key, rows: int) -> None:
        """Count a micro-batch after its F."""
        self.kept[key] = rows
        self.in_flight += 1
        self.most_kept = max(self.most_kept, len(self.kept))
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def remove(self, key: Key, kind: str) -> None:
        """Count a micro-batch after its B, I or W."""
        self.in_flight -= kind in ("B", "I")
        if kind == "I":
            self.late.add(key)
        else:
            self.late.discard(key)
            del self.kept[key]

    def measure(self, key: Key, kind: str, nbytes: Callable[[], int]) -> None:
        """Measure the bytes of the first micro-batch of a stage, after F and after I."""
        known, rows = self.late_row_bytes if kind == "I" else self.row_bytes, self.kept[key]
        if key[0] not in known and rows:
            known[key[0]] = nbytes() / rows

    def bytes(self) -> float:
        """Return the bytes of all that is kept, as far as they were measured."""
        return sum(
            rows * (self.late_row_bytes if key in self.late else self.row_bytes).get(key[0], 0.0)
            for key, rows in self.kept.items()
        )


def describe(value: object) -> str:
    """Name the dtype and the shape of a tensor, or the type of anything else."""
    if not isinstance(value, torch.Tensor):
        return f"a {type(value).__name__}"
    return f"{_name(value.dtype)} of shape {tuple(value.shape)}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
