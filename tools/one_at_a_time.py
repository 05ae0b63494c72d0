"""A lock that the system frees when its holder ends, however it ends."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def one_at_a_time(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of `path`; where another process has it, call `waiting` once, then wait."""
    with path.open("a+b") as file:
        told = False
        while not _try_lock(file.fileno()):
            if not told:
                waiting()
                told = True
            time.sleep(0.2)
        yield  # closing the file frees the lock


def _try_lock(descriptor: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
