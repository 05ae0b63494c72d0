"""One run at a time saves to a folder. Reading takes no lock.

The lock is the kernel's (flock), on the file `.lock` in the folder, so it is gone as soon as the
process that holds it has ended, however it has ended. The file stays; what stands in it is only who
took the lock last. Rank 0 holds it for all ranks of its run.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from helpers.checkpoint.errors import CheckpointError

LOCK = ".lock"
HELD = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}
# Some network file systems have no locks.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Hold the folder's lock; the value is False where its file system has no locks.

    Raises:
        CheckpointError: another run holds it.
    """
    with open(folder / LOCK, "a+b", buffering=0) as file:
        try:
            alone = _take(file.fileno())
        except BlockingIOError:
            file.seek(0)
            holder = file.read(200).decode(errors="replace").strip() or "which has just begun"
            raise CheckpointError(
                f"another run is saving to {folder} ({holder}): end one of the two, or choose "
                "another folder for this one"
            ) from None
        if alone:
            now = datetime.now().astimezone().isoformat(" ", "seconds")
            with suppress(OSError):  # a disk without room for a line has none for a checkpoint
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()}, since {now}".encode())
        try:
            yield alone
        finally:
            _give_back(file.fileno())


def _take(descriptor: int) -> bool:
    """Take the lock; False where there are none, and BlockingIOError where somebody has it."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # nobody can read the byte that is locked
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        if error.errno in HELD:
            raise BlockingIOError from None
        raise
    return True


def _give_back(descriptor: int) -> None:
    """Free the lock now; closing does not if a process forked meanwhile shares the file."""
    with suppress(OSError, ImportError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
