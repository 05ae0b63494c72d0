"""Grade one task: one process, one time limit, one verdict."""

import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from helpers.grade.task import ROOT, TaskFile, load_task
from helpers.grade.tree import end_tree
from helpers.grade.verdict import Verdict

BACKSTOP_S = 30.0  # the check stops slow ranks itself, with the line; after this it is stopped too
KEEP = 1 << 16  # of what the work prints, the last so many bytes are kept


def grade(
    task_id: str,
    root: Path | None = None,
    seconds: float | None = None,
    backstop: float = BACKSTOP_S,
    folder: Path | None = None,
) -> Verdict:
    """Check one task in the repository at `root`, by default the one that contains this grader.

    The checks are those beside this grader, whatever tasks the graded repository holds.
    seconds: the time limit, by default the task's own. folder: where the checks are.
    Raises TaskError for an unknown task; everything that the work does wrong is a verdict.
    """
    folder = folder or ROOT / "tasks"
    found = load_task(task_id, folder)
    seconds = found.task.seconds if seconds is None else seconds
    path = (root or ROOT).resolve() / found.task.file
    begun = time.monotonic()
    answer, printed = _ask_judge(found, path, folder, seconds, backstop)
    kind, reason, details = answer
    took = time.monotonic() - begun
    return Verdict(found.task, kind, reason, details, printed, took)


def _ask_judge(
    found: TaskFile, path: Path, folder: Path, seconds: float, backstop: float
) -> tuple[tuple[str, str, str], str]:
    """Kind, reason and details from the judge's process; and what was printed meanwhile."""
    order = {
        "task": found.task.id,
        "path": str(path),
        "folder": str(folder.resolve()),
        "seed": secrets.randbits(31),
        "seconds": seconds,
        "token": secrets.token_hex(16),
    }
    with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as place:
        process = subprocess.Popen(
            # -P: what the work leaves in the current folder does not take a module's place.
            [sys.executable, "-P", "-m", "helpers.grade.judge"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=place,
            env=_environment(),
            start_new_session=os.name == "posix",
        )
        answer, printed = _Tail(process.stdout), _Tail(process.stderr)
        try:
            try:
                process.stdin.write(json.dumps(order).encode())
                process.stdin.close()
            except BrokenPipeError:
                pass  # it ended at once: its last words say why
            process.wait(timeout=seconds + backstop)
            ended = f"with exit status {process.returncode}"
        except subprocess.TimeoutExpired:
            ended = ""
        finally:
            end_tree(process)
        text = printed.text()
        verdict = _read(answer.text(), order["token"])
    if verdict is None and not ended:
        sentence = f"the check did not end within {seconds + backstop:g} s, and was stopped"
        verdict = ("time-out", sentence, "")
    return verdict or ("no verdict", f"the check ended {ended} before it had a verdict", ""), text


def _environment() -> dict[str, str]:
    """This process's environment; `helpers` is the one that is running now."""
    # Inside a rank, or under torchrun, these would tell the judge's ranks a wrong place.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAB_")}
    before = [p for p in (os.environ.get("PYTHONPATH"),) if p]
    return kept | {"PYTHONPATH": os.pathsep.join([str(ROOT), *before]), "PYTHONUTF8": "1"}


def _read(text: str, token: str) -> tuple[str, str, str] | None:
    """The verdict, or None where there is none that carries the token."""
    try:
        verdict = json.loads(text)
        if verdict["token"] != token:
            return None
        return verdict["kind"], verdict["sentence"], verdict["details"]
    except (ValueError, KeyError, TypeError):
        return None


class _Tail:
    """Reads a pipe to its end, in a thread; keeps the last bytes."""

    def __init__(self, pipe):
        self._pipe, self._data = pipe, bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while part := self._pipe.read1(KEEP):
            self._data += part
            del self._data[:-KEEP]

    def text(self) -> str:
        """What was kept. Waits a moment for the end of the pipe."""
        self._thread.join(timeout=2)
        if not self._thread.is_alive():
            self._pipe.close()
        return bytes(self._data).decode(errors="replace")
