"""What a training step and its script use: micro-batches, the check, the numbers, the trace."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cluster.errors import PuzzleError
from cluster.outcome import check, outcome
from cluster.script import main_of_part, main_of_puzzles
from cluster.trace import trace_of
from lib import Model

__all__ = [
    "check",
    "get_global_batch_list",
    "get_layers",
    "get_model_theoretical_best_time",
    "get_next_microbatch",
    "get_training_stats",
    "main_of_part",
    "main_of_puzzles",
    "to_chrome_trace",
    "write_chrome_trace",
]


def get_next_microbatch(
    global_batch_size: int, world_size: int, batch_size: int, rank: int
) -> Iterator[list[int]]:
    """The samples of this rank, `batch_size` at a time; the last list may be shorter.

    Rank r has samples r n to (r + 1) n - 1, n = global_batch_size / world_size. Raises PuzzleError
    where the batch does not divide.
    """
    _positive(global_batch_size=global_batch_size, world_size=world_size, batch_size=batch_size)
    if global_batch_size % world_size:
        raise PuzzleError(
            f"a batch of {global_batch_size} samples cannot be divided by {world_size} ranks: "
            "some samples would be left out"
        )
    each = global_batch_size // world_size
    mine = list(range(each * rank, each * (rank + 1)))
    return (mine[i : i + batch_size] for i in range(0, each, batch_size))


def get_global_batch_list(global_batch_size: int, batch_size: int) -> list[list[int]]:
    """All samples, `batch_size` at a time. Raises PuzzleError where the batch does not divide."""
    _positive(global_batch_size=global_batch_size, batch_size=batch_size)
    if global_batch_size % batch_size:
        raise PuzzleError(
            f"a batch of {global_batch_size} samples cannot be divided into micro-batches of "
            f"{batch_size}: some samples would be left out"
        )
    starts = range(0, global_batch_size, batch_size)
    return [list(range(start, start + batch_size)) for start in starts]


def get_layers(num_layers: int, world_size: int, rank: int) -> range:
    """The layers of a rank in a pipeline: neighbors, as equal in number as can be.

    With more ranks than layers, each of the first num_layers ranks has one, the others none.
    """
    _positive(num_layers=num_layers, world_size=world_size)
    stages = min(num_layers, world_size)
    if rank >= stages:
        return range(0)
    return range(rank * num_layers // stages, (rank + 1) * num_layers // stages)


def get_training_stats(models: Sequence[Model]) -> tuple[float, float, int]:
    """(time, most memory on one rank, that rank), after a check; prints them too."""
    found = outcome(models)
    print(
        f"Execution time: {found.time} {found.unit}, maximum memory: {found.memory:.0f} "
        f"{found.memory_unit} on rank {found.rank} at {found.when}"
    )
    return found.time, found.memory, found.rank


def get_model_theoretical_best_time(model: Model) -> float:
    """The time of the step if every rank computed at its peak rate all the time."""
    return model.dist.profile.best(model.num_layers, model.global_batch_size)


def to_chrome_trace(models: Sequence[Model], global_batch_list=None) -> dict[str, Any]:
    """The trace as the object that chrome://tracing and Perfetto read.

    global_batch_list: the samples of each micro-batch, which gives events its number.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = trace_of(models, global_batch_list).save(Path(folder) / "trace.json")
        return json.loads(path.read_text(encoding="utf-8"))


def write_chrome_trace(models: Sequence[Model], path: str, global_batch_list=None) -> None:
    """Write that object to a file; missing folders are made."""
    trace_of(models, global_batch_list).save(path)


def _positive(**values: int) -> None:
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise PuzzleError(f"{name} must be a whole number, 1 or more, not {value!r}")
