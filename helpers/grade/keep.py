"""A keeper: a process that waits for another one, and ends whatever that has left running."""

import os
import sys

from helpers.grade.watch import end_below

SUBREAPER = 36


def adopt() -> None:
    """From now on, whoever loses a parent below this process becomes its child (Linux only)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def wait_and_end(child: int) -> int:
    """Wait for a child, end all that is left below this process, and return the exit status."""
    _, status = os.waitpid(child, 0)
    end_below(os.getpid(), itself=False)
    return os.waitstatus_to_exitcode(status)
