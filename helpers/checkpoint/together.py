"""What all ranks must do, or know, together. A failure on one is the same sentence on all.

Without it a rank that meets an error would leave the others waiting for its next message. What is
neither a CheckpointError nor an error of the disk is a mistake in a program: it goes its own way.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch.distributed as dist

from helpers.checkpoint.errors import CheckpointError, NoCheckpoint, explained

T = TypeVar("T")


def here() -> tuple[int, int]:
    """This rank and how many there are; (0, 1) where nothing is connected."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def by_first(work: Callable[[], T]) -> T:
    """Rank 0 does the work, the others wait for it. All get what it gave, or its error."""
    rank, size = here()
    given = [_tried(work) if rank == 0 else None]
    if size > 1:
        dist.broadcast_object_list(given, src=0)
    return _taken(given)[0]


def by_all(work: Callable[[], T]) -> list[T]:
    """Every rank does its own work. All get what each rank gave, or the error of the first."""
    _, size = here()
    mine = _tried(work)
    given = [mine] * size
    if size > 1:
        dist.all_gather_object(given, mine)
    return _taken(given)


def _tried(work: Callable[[], T]) -> tuple[str, T | str]:
    """("good", what the work gave), or the kind of error and its sentence."""
    try:
        return "good", work()
    except NoCheckpoint as error:
        return "none", str(error)
    except CheckpointError as error:
        return "bad", str(error)
    except OSError as error:
        return "bad", explained(error, Path(error.filename or "the disk"))


def _taken(given: list) -> list:
    for rank, (kind, value) in enumerate(given):
        if kind == "good":
            continue
        alone = sum(each[0] != "good" for each in given) == 1 < len(given)
        words = f"rank {rank}: {value}" if alone else value
        raise (NoCheckpoint if kind == "none" else CheckpointError)(words)
    return [value for _, value in given]
