"""What can go wrong with a checkpoint, in one sentence that is the same on all ranks.

Without that, a rank that meets an error would leave the others waiting for its next message. What
is neither a CheckpointError nor an error of the disk is a bug in a program, and is raised as it is.
"""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch.distributed as dist

T = TypeVar("T")
FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
CURE = "copy it again, or load an earlier step"
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


class CheckpointError(ValueError):
    """A checkpoint could not be written or read; the message says which, why, and what to do."""


class NoCheckpoint(CheckpointError):
    """The folder holds no checkpoint."""


def sentence_of(error: BaseException, path: Path) -> str:
    """Return a sentence for an error of the disk, or of torch while it wrote there."""
    if isinstance(error, CheckpointError):
        return str(error)
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__  # torch wraps what a stream has raised
    if cause is None:
        return f"{path}: {type(error).__name__}: {str(error).strip().splitlines()[0]}"
    if cause.errno in FULL:
        return f"{path} cannot be written: the disk is full; free some space, or take another disk"
    if cause.errno in FORBIDDEN:
        return f"{path} may not be used ({cause.strerror}): choose a folder that is yours"
    if cause.errno in (errno.ENOTEMPTY, errno.EEXIST) and path.is_dir():
        return f"{path} is there already, saved by another run: choose another folder for this one"
    if isinstance(cause, NotADirectoryError | FileExistsError):
        return f"{path} is a file, or lies below one: choose a folder"
    return f"{path}: {cause.strerror or type(cause).__name__}; check the folder and the disk"


def here() -> tuple[int, int]:
    """Return this rank and the number of ranks; (0, 1) where nothing is connected."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def by_first(work: Callable[[], T]) -> T:
    """Do the work on rank 0 and return its result, or raise its error, on all ranks."""
    rank, size = here()
    given = [_tried(work) if rank == 0 else None]
    if size > 1:
        dist.broadcast_object_list(given, src=0)
    return _taken(given)[0]


def by_all(work: Callable[[], T]) -> list[T]:
    """Do the work on every rank and return all results, or raise the first error, on all ranks."""
    _, size = here()
    mine = _tried(work)
    given = [mine] * size
    if size > 1:
        dist.all_gather_object(given, mine)
    return _taken(given)


def _tried(work: Callable[[], T]) -> tuple[T | None, CheckpointError | None]:
    """Return what the work gave, or the error that it raised."""
    try:
        return work(), None
    except CheckpointError as error:
        return None, error
    except OSError as error:
        return None, CheckpointError(sentence_of(error, Path(error.filename or "the disk")))


def _taken(given: list) -> list:
    failed = [(rank, error) for rank, (_, error) in enumerate(given) if error]
    if failed:
        rank, error = failed[0]
        alone = len(failed) == 1 < len(given)
        raise type(error)(f"rank {rank}: {error}" if alone else str(error))
    return [value for value, _ in given]
