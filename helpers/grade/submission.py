"""Somebody's work on a task, as the check of the task sees it.

The check runs in a process of its own, and the work in others: the check hands out inputs, gets
raw results back, and judges them where no line of the work has ever run. So the work cannot
change what "equal" means, and nothing that it prints is taken for a verdict.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from helpers.grade.task import Task, load_module


class WorkFailed(Exception):
    """The work crashed, hung or ended itself.

    kind: "not done" (a stub was called), "time-out", or "crash".
    sentence: what happened, with rank and line; details: Python's own words, for a person.
    """

    def __init__(self, kind: str, sentence: str, details: str = ""):
        super().__init__(sentence)
        self.kind, self.sentence, self.details = kind, sentence, details


@dataclass(frozen=True)
class Job:
    """One call for a rank; everything in it can travel."""

    path: str
    task_path: str
    function: str
    args: Sequence[Any]

    def run(self) -> Any:
        """Import the work and the check's own function, and call it."""
        check = load_module(Path(self.task_path), "lab_task")
        return getattr(check, self.function)(load_work(Path(self.path)), *self.args)


@dataclass(frozen=True)
class Submission:
    """The file to grade, and what a check may use.

    path: the file; task_path: the file of the check.
    seed: drawn anew for every check, so that nobody can prepare the answers.
    deadline: the `time.monotonic()` at which ranks are stopped.
    """

    task: Task
    path: Path
    task_path: Path
    seed: int
    deadline: float

    def on_ranks(self, work: Callable[..., Any], ranks: int, *args: Any) -> list[Any]:
        """Call `work(module, *args)` on real ranks; give one result per rank.

        work: a function at the top level of the task's file. There, `module` is the imported
        work, and `torch.distributed` is ready (gloo, on the CPU).
        Raises WorkFailed.
        """
        job = Job(str(self.path), str(self.task_path), work.__name__, args)
        seconds = max(1.0, self.deadline - time.monotonic())
        return run_on_ranks(job.run, ranks, seconds)


def load_work(path: Path) -> ModuleType:
    """Import the file to grade, as `import` would do from beside it.

    Its folder comes last on the import path: a file there that is called like a part of Python,
    of torch or of this lab does not take the place of that part.
    """
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    return load_module(path, path.stem)


def run_on_ranks(function: Callable[[], Any], ranks: int, seconds: float) -> list[Any]:
    """The result of `function()` on each rank. Raises WorkFailed."""
    from helpers.ranks import launch

    report = launch(
        lambda: ["done", function()],
        ranks=ranks,
        backend="gloo",
        timeout=seconds,
        on_error="report",
        quiet=True,
    )
    for text in report.texts:  # for the person who reads the verdict; it counts for nothing
        print(text, end="" if text.endswith("\n") or not text else "\n")
    if report.failure is not None:
        raise _in_our_words(report.failure)
    if not all(isinstance(r, list) and len(r) == 2 and r[0] == "done" for r in report.results):
        raise WorkFailed("crash", "a rank ended without a result")
    return [result for _, result in report.results]


def _in_our_words(failure: Any) -> WorkFailed:
    """A failure of the ranks in the words of a verdict."""
    sentence = failure.sentence
    details = "\n".join(part for part in (failure.details, failure.traceback) if part)
    if failure.rank is None:
        lines = [line.strip() for line in failure.details.splitlines()]
        cures = [line.removeprefix("Cure: ") for line in lines if line.startswith("Cure: ")]
        sentence = ". ".join([sentence, *cures])
        return WorkFailed("time-out", sentence, details)
    _, stub, message = sentence.partition("NotImplementedError: Task ")
    if stub:
        return WorkFailed("not done", f"not done yet: Task {message}", details)
    return WorkFailed("crash", sentence, details)
