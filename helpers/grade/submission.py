"""Somebody's work on a task, as the check of the task sees it.

The check runs in a process of its own, and the work in others (`workshop`): the check hands out
inputs, gets plain data back, and judges it where no line of the work has ever run. So the work
cannot change what "equal" means, and nothing that it prints is taken for a verdict.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.grade.task import Task
from helpers.grade.workshop import Job
from helpers.grade.workshop_client import WorkFailed, Workshop

MARGIN_S = 20.0  # the ranks have their own time-out, which says more: it comes first


@dataclass(frozen=True)
class Submission:
    """The file to grade, and what a check may use.

    path: the file; task_path: the file of the check.
    seed: drawn anew for every check, or chosen by the teacher, so that nobody can prepare the
    answers.
    deadline: the `time.monotonic()` at which ranks are stopped.
    """

    task: Task
    path: Path
    task_path: Path
    seed: int
    deadline: float
    workshop: Workshop

    def on_ranks(self, work: Callable[..., Any], ranks: int, *args: Any) -> list[Any]:
        """Call `work(module, *args)` on real ranks; give one result per rank.

        work: a function at the top level of the task's file. There, `module` is the imported
        work, and `torch.distributed` is ready (gloo, on the CPU). What it returns comes back as
        plain data: numbers, text, lists, dicts, tensors, arrays.
        Raises WorkFailed.
        """
        results = self._do(self.task_path, work, ranks, args)
        if not isinstance(results, list) or len(results) != ranks:
            raise WorkFailed("crash", "a rank ended without a result")
        return results

    def apart(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call `function(path, *args)` in the work's own process; `path` is the file to grade.

        function: at the top level of a file of checks; for a check that has a way of its own to
        run the work, which is never to be imported where the judgement is made.
        """
        return self._do(Path(function.__code__.co_filename), function, 0, args)

    def _do(self, file: Path, function: Callable, ranks: int, args: tuple) -> Any:
        seconds = max(1.0, self.deadline - time.monotonic())
        job = Job(str(self.path), str(file), function.__name__, args, ranks, seconds)
        return self.workshop.do(job, seconds + MARGIN_S)
