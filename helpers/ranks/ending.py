"""The end of a rank's program, as Python ends: threads first, then what atexit was given.

A rank is finished when its process can't communicate any more, and not when its function or its
script has returned: Python waits for every thread that isn't a daemon, and an exit handler may
still send a message.
"""

import atexit
import os
import threading
from pathlib import Path

# Processes that Python starts for itself, and that do nothing but wait for their parent.
PYTHONS_OWN = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")


class Ending:
    """How far this process has come. Another thread reads it."""

    waits = False  # for its threads: the program itself has ended
    finished = False  # nothing is left that Python would wait for

    def run(self) -> None:
        """Wait for the program's threads, then run its exit handlers."""
        self.waits = True
        threading._shutdown()  # as Python does at its end; executors end their threads in it too
        self.waits = False
        atexit._run_exitfuncs()
        self.finished = True


def left_processes() -> bool:
    """Whether a process still runs that this one, or one of those that it started, has started.

    They share its group. Where there is no /proc it can't be told: False.
    """
    me = os.getpid()
    group = os.getpgrp() if hasattr(os, "getpgrp") else None
    if group != me:
        return False
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, its_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(its_group) != group or folder.name == str(me) or state in "ZX":
                continue
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        if not any(own in command for own in PYTHONS_OWN):
            return True
    return False
