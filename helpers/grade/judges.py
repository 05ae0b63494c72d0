"""Start a judge: a copy of one that has imported torch, or an interpreter of its own."""

import os
import subprocess
import sys
import threading

from helpers.grade.task import ROOT
from helpers.grade.tree import end_tree

KEEP = 1 << 16  # of what a judge prints, the last so many bytes are kept
# What a process needs from its surroundings; a teacher's keys and tokens are not among it.
NEEDED = (
    "PATH LANG LC_ALL LC_CTYPE TZ LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX OMP_NUM_THREADS "
    "MKL_NUM_THREADS OPENBLAS_NUM_THREADS LAB_FORK TMPDIR TEMP TMP SYSTEMROOT SYSTEMDRIVE WINDIR "
    "COMSPEC PATHEXT NUMBER_OF_PROCESSORS DYLD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE"
).split()


def start_judge(folder: str, libraries: tuple[str, ...]):
    """A new judge: a copy of one that has imported torch, where the system can make copies."""
    from helpers.ranks.forkserver import possible

    for _ in range(2 if possible() else 0):
        try:
            return _warm(libraries).judge()
        except OSError:
            continue  # it was ended by somebody: once more, then without
    return _FreshJudge(folder)


def _warm(libraries: tuple[str, ...]):
    """The process of this program that judges are copied from; started when it is not there."""
    from helpers.grade.warm import Warm, the_warm

    environment = _environment()
    key = (libraries, *sorted(environment.items()))
    with _LOCK:
        kept = the_warm()
        if key not in kept or not kept[key].alive:
            kept[key] = Warm(environment, libraries)
        return kept[key]


def stop_judges() -> None:
    """End every check that runs now, of all threads; the next check starts anew."""
    from helpers.grade.warm import the_warm

    with _LOCK:
        for warm in the_warm().values():
            warm.close()
        the_warm().clear()


_LOCK = threading.Lock()


class _FreshJudge:
    """A judge in an interpreter of its own."""

    def __init__(self, folder: str):
        self._process = subprocess.Popen(
            # -P: what the work leaves in the current folder does not take a module's place.
            [sys.executable, "-P", "-m", "helpers.grade.judge"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=_environment(),
            start_new_session=os.name == "posix",
        )
        self.stdin, self.stdout = self._process.stdin, self._process.stdout
        self.stderr = self._process.stderr

    def wait(self, seconds: float) -> int | None:
        """The exit status, or None where it has not ended within `seconds`."""
        try:
            return self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """End it now, and everything that came from it."""
        end_tree(self._process)


def _environment() -> dict[str, str]:
    """What a judge needs of this process's environment; `helpers` is the one that runs now."""
    # Inside a rank, or under torchrun, other names would tell the judge's ranks a wrong place.
    kept = {name: os.environ[name] for name in NEEDED if name in os.environ}
    before = [p for p in (os.environ.get("PYTHONPATH"),) if p]
    return kept | {"PYTHONPATH": os.pathsep.join([str(ROOT), *before]), "PYTHONUTF8": "1"}


class Tail:
    """Reads a pipe to its end, in a thread; keeps the last bytes."""

    def __init__(self, pipe, keep: int = KEEP):
        self._pipe, self._data, self._keep = pipe, bytearray(), keep
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while part := self._pipe.read1(self._keep):
            self._data += part
            del self._data[: -self._keep]

    def text(self) -> str:
        """What was kept. Waits up to five seconds for the end of the pipe."""
        self._thread.join(timeout=5)
        if not self._thread.is_alive():
            self._pipe.close()
        return bytes(self._data).decode(errors="replace")
