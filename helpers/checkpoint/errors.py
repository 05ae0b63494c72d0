"""What can go wrong with a checkpoint, in one sentence each."""

import errno
from pathlib import Path

FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
CURE = "copy it again, or load an earlier step"
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


class CheckpointError(ValueError):
    """A checkpoint could not be written or read; the message says which, why, and what to do."""


class NoCheckpoint(CheckpointError):
    """The folder holds no checkpoint."""


def explained(error: BaseException, path: Path) -> str:
    """A sentence for an error that came from the disk, or from torch while it wrote there."""
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


def read_error(error: BaseException, path: Path) -> str:
    """A sentence for an error that came while a checkpoint was read."""
    words = str(error).strip().splitlines()[-1]
    return f"{path} cannot be read ({words}): {CURE}"
