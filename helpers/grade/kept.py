"""A judge for a notebook: a process that has imported torch and waits for orders.

In a kernel the student's own code may have changed anything, so the judgement is made elsewhere:
a line of JSON goes in for each check, and a verdict comes out. The judge keeps one more process, in
which the work runs (`workshop`), so the second check takes a second or two. The work isn't
confined: it is the student's own, on the student's own machine.
"""

import json
import os
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

from helpers.grade.limits import Held
from helpers.grade.task import ROOT, load_task
from helpers.grade.verdict import Verdict
from helpers.skipped import VARIABLE

FIELDS = ("kind", "reason", "details", "printed", "seconds", "picture")


class KeptJudge:
    """The kernel's side: `check` asks, and waits for the verdict."""

    def __init__(self) -> None:
        before = [p for p in (os.environ.get("PYTHONPATH"),) if p]
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from helpers.grade.kept import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *before]), VARIABLE: ""},
            start_new_session=os.name == "posix",
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def check(self, task_id: str, root: Path) -> Verdict:
        """The verdict on a task. An interrupt ends the check, and the process with it."""
        task = load_task(task_id).task
        order = {"task": task_id, "root": str(root)}
        with self._lock:
            try:
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except OSError:
                line = ""
            except BaseException:
                self.close()
                raise
        if not line:
            self.close()
            return Verdict(task, "no verdict", "the judging process died: run the check again")
        said = json.loads(line)
        held = Held(said["held"], said["open"])
        facts = {name: said[name] for name in FIELDS}
        facts["picture"] = tuple(said["picture"])
        return Verdict(task, limits=held, **facts)

    def close(self) -> None:
        from helpers.grade.processes import end_process

        end_process(self._process)


@cache
def _kept() -> list[KeptJudge]:
    """The judge of this process, where there is one."""
    return []


def kept_judge() -> KeptJudge:
    """The judge of this process; a new one where there is none, or where it has died."""
    if not _kept() or not _kept()[0].alive:
        _kept()[:] = [KeptJudge()]
    return _kept()[0]


def main() -> None:
    """Serve checks on stdin and stdout, until the kernel that asks has ended."""
    from helpers.grade.judge import judge, prepare
    from helpers.grade.submission import Submission

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    submission: Submission | None = None
    try:
        for line in sys.stdin:
            order = json.loads(line)
            found, root = load_task(order["task"]), Path(order["root"]).resolve()
            if submission is None:
                prepare(found.task.libraries)  # those of a lesson's tasks are often the same
            if submission is None or submission.root != root:
                if submission:
                    submission.close()
                submission = Submission(root, confined=False)
            verdict = judge(found, submission)
            said = {name: getattr(verdict, name) for name in FIELDS}
            said |= {"held": verdict.limits.held, "open": verdict.limits.open}
            answers.write(json.dumps(said) + "\n")
            answers.flush()
    finally:
        if submission:
            submission.close()
