"""Keep an eye on a process and on all that came from it: memory and number, several times a second.

A limit of the system holds for one process; this one holds for all of them together, and works
wherever psutil does.
"""

import os
import signal
import threading

from helpers.grade.limits import Limits

EVERY_S = 0.25


class Watch:
    """Ends the tree of a process that takes too much; `reason` says why, or is empty."""

    def __init__(self, pid: int, limits: Limits):
        self._limits, self._over = limits, threading.Event()
        self._pid = pid
        self.reason = ""
        threading.Thread(target=self._look, daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(EVERY_S):
            count, used = size_of_tree(self._pid)
            if used > self._limits.gigabytes * 2**30:
                self.reason = (
                    f"it used more than {self._limits.gigabytes:g} GB of memory, and was stopped"
                )
            elif count > self._limits.processes:
                self.reason = (
                    f"it started more than {self._limits.processes} processes, and was stopped"
                )
            if self.reason:
                end_below(self._pid)
                return


def size_of_tree(pid: int) -> tuple[int, int]:
    """How many processes there are from `pid` down, and the bytes that they hold for themselves."""
    used, found = 0, _tree(pid)
    for process in found:
        try:
            memory = process.memory_info()
            used += memory.rss - getattr(memory, "shared", 0)
        except Exception:  # it has ended, or may not be read
            continue
    return len(found), used


def end_below(pid: int, itself: bool = True) -> None:
    """Kill a process and all that came from it; or only what came from it.

    Several times: what is started meanwhile goes too.
    """
    for _ in range(5):
        found = _tree(pid)[0 if itself else 1 :]
        for process in found:
            try:
                os.kill(process.pid, signal.SIGSTOP if hasattr(signal, "SIGSTOP") else 9)
            except OSError:
                continue
        for process in reversed(found):
            try:
                process.kill()
            except Exception:
                continue
        if not found:
            return


def _tree(pid: int) -> list:
    import psutil

    try:
        process = psutil.Process(pid)
        below = process.children(recursive=True)
        return [p for p in (process, *below) if p.status() != psutil.STATUS_ZOMBIE]
    except psutil.Error:
        return []
