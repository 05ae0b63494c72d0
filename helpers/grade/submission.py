"""Somebody's work, seen from the judge: where it lies, and the process in which it runs.

One process serves all tasks of one submission, and never two submissions. Where it can be confined
it is (`sandbox`); the limits of time, memory and processes hold either way.
"""

import contextlib
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.grade import sandbox
from helpers.grade.copy import copy_lab, copy_work
from helpers.grade.limits import Held, Limits
from helpers.grade.payload import PayloadError, pack, unpack
from helpers.grade.pipes import LENGTH, send_bytes
from helpers.grade.processes import Guard, end_process
from helpers.grade.task import ROOT, Task, TaskFile, WorkFailed
from helpers.ranks.pool import rank_defaults

KINDS = ("no file", "syntax", "no function", "not done", "time-out")  # what a workshop may say
MOST_BYTES = 1 << 28  # of one answer
KEEP = 1 << 16  # of what a workshop prints, the last so many bytes are kept
MARGIN_S = 20.0  # the ranks have their own time-out, which says more: it comes first
START_S = 120.0  # a workshop may take so long to begin: it imports torch, on a busy machine
# What a process needs from its surroundings; a teacher's keys and tokens are not among it.
NEEDED = (
    "PATH LANG LC_ALL LC_CTYPE TZ LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX OMP_NUM_THREADS "
    "MKL_NUM_THREADS OPENBLAS_NUM_THREADS LAB_FORK TEMP TMP SYSTEMROOT SYSTEMDRIVE WINDIR "
    "COMSPEC PATHEXT NUMBER_OF_PROCESSORS DYLD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE"
).split()
# What may stand in an answer, and of what kind it is.
ANSWER = {"results": list, "texts": list, "waits": tuple, "ended": int, "status": int}
ANSWER |= dict.fromkeys("kind sentence details picture alt user misfit".split(), str)


@dataclass(frozen=True)
class Seen:
    """What came back of a task: an observation for each case, and what was printed."""

    observations: list[Any]
    printed: str


class Submission(contextlib.AbstractContextManager):
    """The work below a folder, and one process for it, which is started when it is needed.

    Args:
        root: the folder; nothing in it is changed, since the work is a copy of its files.
        tasks: the folder of the tasks.
        confined: whether to use the sandbox where there is one.
    """

    def __init__(self, root: Path, tasks: Path = ROOT / "tasks", confined: bool = True):
        self.root, self.tasks = root.resolve(), tasks.resolve()
        self._confined = confined and not sandbox.why_not()
        self._workshop: _Workshop | None = None
        self._closed = False
        self._place = Path(tempfile.mkdtemp(prefix="grade-")).resolve()
        self._place.chmod(0o755)
        self._jobs = 0

    def begin(self) -> None:
        """Start the process now; otherwise the first job does. Raises WorkFailed."""
        if self._workshop is not None:
            return
        self._workshop = _Workshop(self._place, self._confined)
        try:
            if self._closed:
                raise WorkFailed("crash", "the submission was closed while it was graded")
            self._workshop.wait()
        except BaseException:
            self._end()
            raise

    def observe(self, found: TaskFile, cases: list, limits: Limits) -> Seen:
        """Run the work on every case; return what was observed. Raises WorkFailed and CopyError."""
        with self._copied(found.task) as (work, lab):
            said = self._ask(found, work, lab, cases, limits)
        printed = "".join(
            text if text.endswith("\n") else f"{text}\n" for text in said.get("texts", ()) if text
        )
        if "results" in said:
            return Seen(said["results"], printed)
        kind = said.get("kind") if said.get("kind") in KINDS else "crash"
        sentence = said.get("sentence", "what came back isn't a result")
        picture = (said["picture"], said.get("alt", "")) if "picture" in said else ()
        details = said.get("details", "")
        facts = said.get("waits", ()), said.get("misfit", "")
        raise WorkFailed(kind, sentence, details, picture, printed, *facts)

    def held(self, limits: Limits) -> Held:
        """Which limits hold here, and which don't."""
        held = {"time": f"{limits.seconds:g} s", "memory": f"{limits.gigabytes:g} GB"}
        held["processes"] = str(limits.processes)
        if not self._confined:
            return Held(held, ["files", "network", "user"])
        user = self._workshop.user if self._workshop else ""
        return Held(held | sandbox.HELD | ({"user": user} if user else {}), [])

    def close(self) -> None:
        """End the process, with everything that came from it; also from another thread, in the
        middle of a check, which then ends at once."""
        self._closed = True
        self._end()
        shutil.rmtree(self._place, ignore_errors=True)

    def _end(self) -> None:
        workshop, self._workshop = self._workshop, None
        if workshop:
            workshop.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _copied(self, task: Task) -> Iterator[tuple[str, str]]:
        """The work's files, and what the lab gives to this task, in a place that the work sees."""
        folder = self._place / str(self._jobs)
        try:
            copy_work(self.root, task, folder / "work")
            copy_lab(task, folder / "lab")
            yield str(folder / "work"), str(folder / "lab") if (folder / "lab").exists() else ""
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _ask(self, found: TaskFile, work: str, lab: str, cases: list, limits: Limits):
        """The answer to a job. A workshop that didn't end it as it should serves no other."""
        self._jobs += 1
        self.begin()
        path = self._place / f"{found.path.stem}.py"
        path.write_text(found.shown(), encoding="utf-8")
        job = {"number": self._jobs, "task": str(path), "tasks": str(self.tasks)}
        job |= {"work": work, "lab": lab, "cases": cases}
        job |= {"seconds": limits.seconds, "gigabytes": limits.gigabytes}
        try:
            said, sound = self._workshop.do(job, limits)
        except BaseException:
            self._end()
            raise
        if not sound:
            self._end()
        return said


class _Workshop:
    """The judge's side of the process."""

    def __init__(self, place: Path, confined: bool):
        program = [sys.executable, "-P", "-m", "helpers.grade.workshop"]
        if confined:
            program = [*sandbox.command(place), *program, "--confined"]
        self._printed = open(place / "printed", "w+b")  # noqa: SIM115 (closed in `close`)
        self._process = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            cwd=place,
            env=_environment() | ({} if confined else {"TMPDIR": str(place)}),  # ends with it
            start_new_session=os.name == "posix",
        )
        # Few answers for one order: work that sends more wants to fill this process's memory.
        self._answers: queue.Queue[bytes | str | None] = queue.Queue(maxsize=4)
        self.user = ""
        threading.Thread(target=self._read, daemon=True).start()

    def wait(self) -> None:
        """Return when it can take jobs. Raises WorkFailed."""
        try:
            self.user = self._next(time.monotonic() + START_S).get("user", "")
        except WorkFailed as failed:
            sentence = "the process in which work runs can't be started here"
            raise WorkFailed("check", sentence, f"{failed}\n{self.printed()}") from None

    def do(self, job: dict, limits: Limits) -> tuple[dict, bool]:
        """What came back, and whether the process can serve another job. Raises WorkFailed."""
        guard = Guard(self._process.pid, limits)
        end = time.monotonic() + limits.seconds + MARGIN_S
        said: dict = {}
        try:
            send_bytes(self._process.stdin.fileno(), pack(job))
            while True:
                message = self._next(end)
                if message.get("ended") == job["number"]:
                    break
                if "ended" not in message and not said:
                    said = message
        except OSError:
            pass  # it has gone, and below it is said why
        except WorkFailed:
            if not guard.reason:
                raise
        finally:
            guard.stop()
        if guard.reason:
            raise WorkFailed("limit", guard.reason)
        if not said:
            raise WorkFailed("crash", "the work ended the process that runs it")
        return said, self._process.poll() is None and sys.platform == "linux"

    def printed(self) -> str:
        self._printed.seek(max(0, self._printed.seek(0, os.SEEK_END) - KEEP))
        return self._printed.read().decode(errors="replace")

    def close(self) -> None:
        """End it, and everything that came from it."""
        end_process(self._process)
        self._printed.close()
        self._process.stdin.close()

    def _next(self, end: float) -> dict:
        """The next answer, which must come before `end`. Raises WorkFailed."""
        try:
            if (left := end - time.monotonic()) <= 0:  # however many answers have come
                raise queue.Empty
            data = self._answers.get(timeout=left)
        except queue.Empty:
            words = "the process that runs the work no longer answers"
            raise WorkFailed("time-out", words) from None
        if isinstance(data, str):
            raise WorkFailed("crash", data)
        if data is None:
            raise WorkFailed("crash", "the work ended the process that runs it")
        try:
            return read_answer(data)
        except PayloadError as error:
            raise WorkFailed("crash", str(error)) from None

    def _read(self) -> None:
        """In a thread: take the answers from the pipe."""
        flood = ""
        with self._process.stdout as pipe:
            while not flood and len(head := pipe.read(LENGTH.size)) == LENGTH.size:
                (length,) = LENGTH.unpack(head)
                if length > MOST_BYTES:
                    flood = f"what came back has more than {MOST_BYTES >> 20} MB"
                    break
                data = pipe.read(length)
                if len(data) != length:
                    break
                try:
                    self._answers.put(data, timeout=5)
                except queue.Full:
                    flood = "what came back is more than was asked for"
        with contextlib.suppress(queue.Full):
            self._answers.put(flood or None, timeout=5)


def read_answer(data: bytes) -> dict:
    """Return what a workshop answered. Raises PayloadError for anything else.

    What the results are is for the check to see.
    """
    said = unpack(data)
    if not isinstance(said, dict) or not ANSWER.keys() >= said.keys():
        raise PayloadError("what came back isn't a result")
    for name, value in said.items():
        if not isinstance(value, ANSWER[name]):
            raise PayloadError(f"what came back isn't a result ({name})")
    if not all(isinstance(text, str) for text in said.get("texts", ())):
        raise PayloadError("what came back isn't a result (texts)")
    for wait in said.get("waits", ()):
        match wait:
            case (int(), str(), int() | None):
                continue
        raise PayloadError("what came back isn't a result (waits)")
    return said


def _environment() -> dict[str, str]:
    """What a workshop needs of this process's environment; `helpers` is the one that runs now."""
    # Inside a rank, or under torchrun, other names would tell the ranks a wrong place.
    kept = {name: os.environ[name] for name in NEEDED if name in os.environ}
    before = [p for p in (os.environ.get("PYTHONPATH"),) if p]
    path = os.pathsep.join([str(ROOT), *before])
    return rank_defaults() | kept | {"PYTHONPATH": path, "PYTHONUTF8": "1"}
