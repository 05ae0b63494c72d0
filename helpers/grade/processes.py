"""The processes that work starts: how much they take together, and how they end.

A limit of the system holds for one process; what is here holds for all of them together, and works
wherever psutil does.
"""

import os
import signal
import subprocess
import sys
import threading

from helpers.grade.limits import Limits

EVERY_S = 0.25
SUBREAPER = 36


class Guard:
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
        most = self._limits.gigabytes * 2**30
        while not self._over.wait(EVERY_S):
            found = tree(self._pid)
            if len(found) > self._limits.processes:
                self.reason = (
                    f"the work was stopped: it started more than {self._limits.processes} processes"
                )
            elif memory_of(found, most) > most:
                gigabytes = f"{self._limits.gigabytes:g} GB"
                self.reason = f"the work was stopped: it used more than {gigabytes} of memory"
            if self.reason:
                end_below(self._pid)
                return


def memory_of(processes: list, most: float) -> int:
    """Return the bytes of memory that processes hold together, as closely as `most` asks for.

    What each of them sees is known quickly, but counts shared memory several times. So where that's
    more than `most`, the system is asked for each one's share (Linux: the proportional set size),
    which is slow.
    """
    whole = sum(map(_seen, processes))
    return whole if whole <= most else sum(map(_share, processes))


def _seen(process) -> int:
    try:
        return process.memory_info().rss
    except Exception:  # it has ended, or may not be read
        return 0


def _share(process) -> int:
    try:
        return process.memory_full_info().pss
    except Exception:  # no such number on this system, or it may not be read
        return _seen(process)


def end_below(pid: int, itself: bool = True) -> None:
    """Kill a process and all that came from it; or only what came from it.

    First all are stopped, several times, since some are started meanwhile: a process that has lost
    its parent couldn't be found any more.
    """
    known: dict = {}
    for _ in range(5):
        new = [process for process in tree(pid, itself) if process not in known]
        for process in new:
            try:
                os.kill(process.pid, signal.SIGSTOP if hasattr(signal, "SIGSTOP") else 9)
            except OSError:
                continue
        known |= dict.fromkeys(new)
        if not new:
            break
    for process in reversed(known):
        try:
            process.kill()
        except Exception:
            continue


def tree(pid: int, itself: bool = True) -> list:
    """The processes from `pid` down, or below it, that have not ended."""
    import psutil

    try:
        first = psutil.Process(pid)
        below = first.children(recursive=True)
    except psutil.Error:
        return []
    return [process for process in [*([first] if itself else []), *below] if _lives(process)]


def _lives(process) -> bool:
    """Of one alone: that a process ends meanwhile says nothing about the others."""
    import psutil

    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:  # it may not be read, and may still be ended
        return True


def adopt() -> None:
    """From now on, adopt every process below this one that loses its parent (Linux only)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def end_process(process: subprocess.Popen) -> None:
    """Kill a process and all that came from it, and wait for it."""
    end_below(process.pid)
    if os.name == "posix":
        try:  # a group outlives its leader
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    process.kill()
    process.wait()
