"""Grade many submissions, several checks at once; nothing that one does stops the rest."""

import contextlib
import json
import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from helpers.grade.judge import drawn, judge
from helpers.grade.limits import Limits
from helpers.grade.submission import Submission
from helpers.grade.submitted import SubmissionError, is_empty, names, opened, refused
from helpers.grade.task import ROOT, Task, TaskFile, WorkFailed, load_task
from helpers.grade.verdict import Verdict
from helpers.grade.words import in_one_line, why_not


@dataclass
class Graded:
    """One submission: its name, and a verdict for each task that has been graded.

    handed_in: not so where it's a folder without a file in it. trouble: why it could not be read.
    """

    name: str
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    handed_in: bool = True
    trouble: str = ""

    def __post_init__(self) -> None:
        self.name = in_one_line(self.name)

    @property
    def points(self) -> int:
        return sum(v.points for v in self.verdicts.values())


@dataclass
class Grades:
    """What came of many submissions. interrupted: it was stopped, and some verdicts are missing."""

    tasks: list[Task]
    graded: list[Graded]
    seeds: dict[str, int]
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def of(self) -> int:
        return sum(task.points for task in self.tasks)

    def as_dict(self) -> dict:
        """The facts, for JSON. The seeds make the same inputs again (`--seed`, one task)."""
        return {
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 1),
            "seeds": self.seeds,
            "submissions": [
                {
                    "name": one.name,
                    "handed in": one.handed_in,
                    "points": one.points,
                    "of": self.of,
                    "verdicts": [one.verdicts[t.id].as_dict() for t in self.tasks
                                 if t.id in one.verdicts],
                }
                for one in self.graded
            ],
        }  # fmt: skip


def grade_all(
    paths: Sequence[Path],
    ids: Sequence[str],
    jobs: int = 1,
    seed: int | None = None,
    done: Callable[[Grades, Graded], None] = lambda grades, one: None,
    seconds: float | None = None,
    gigabytes: float = Limits.gigabytes,
    folder: Path = ROOT / "tasks",
) -> Grades:
    """Grade the tasks `ids` of every submission, `jobs` checks at once.

    An interrupt ends the checks that run, and gives what there is.

    Args:
        seed: for every task; by default each task has one of its own, the same for everybody.
        done: called when all of one submission is graded; what it raises stops the grading.
        seconds, gigabytes: the limits of each check, as `judge` takes them.
        folder: where the tasks are.
    """
    found = [load_task(task_id, folder) for task_id in ids]
    grades = _begun(found, paths, seed)
    tasks, seeds = grades.tasks, grades.seeds
    todo = zip(grades.graded, paths, strict=True)
    stop, once = threading.Event(), cache(drawn)
    running: set[Submission] = set()
    # One submission more than is checked: its process imports torch while the others wait.
    pool, ahead, turn = ThreadPoolExecutor(jobs + 1), threading.Lock(), threading.Semaphore(jobs)

    def whole() -> Graded:
        """All tasks of the next submission; whatever goes wrong is a verdict."""
        try:
            with contextlib.ExitStack() as stack:
                with ahead:  # in their order: one begins while those before it are checked
                    one, path = next(todo)
                    if stop.is_set():
                        return one
                    one.handed_in = not is_empty(path)
                    if reason := refused(path) or ("" if one.handed_in else "handed in nothing"):
                        raise SubmissionError(reason)
                    root = stack.enter_context(opened(path, [task.file for task in tasks]))
                    submission = stack.enter_context(Submission(root, folder))
                    running.add(submission)
                    with contextlib.suppress(WorkFailed):  # the first check tries again, says why
                        submission.begin()
                    stack.enter_context(turn)
                for each in found:
                    if stop.is_set():
                        return one
                    of_task = seeds[each.task.id]
                    verdict = judge(each, submission, of_task, seconds, gigabytes, once)
                    if not stop.is_set():  # else it says only that it was interrupted
                        one.verdicts[each.task.id] = verdict
                running.discard(submission)
        except Exception as error:  # of one submission: the others are graded
            if not stop.is_set():
                _unread(grades, one, error)
        return one

    try:
        waiting = {pool.submit(whole) for _ in paths}
        while waiting:
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                done(grades, future.result())
    except KeyboardInterrupt:
        grades.interrupted = True
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        if grades.interrupted:
            for submission in list(running):
                submission.close()
        pool.shutdown(wait=True)
    return grades


def grade_one(
    path: Path,
    ids: Sequence[str],
    seed: int | None = None,
    done: Callable[[Verdict], None] = lambda verdict: None,
    seconds: float | None = None,
    gigabytes: float = Limits.gigabytes,
) -> Grades:
    """Grade the tasks `ids` of one folder or zip, one after the other.

    An interrupt gives what there is; of a zip that can't be read each verdict says why.

    Args:
        seed, seconds, gigabytes: as of `grade_all`.
        done: called with each verdict.
    """
    found = [load_task(task_id) for task_id in ids]
    grades = _begun(found, [path.absolute()], seed)
    (one,) = grades.graded
    one.handed_in = not is_empty(path)
    files = [task.file for task in grades.tasks]
    try:
        with opened(path, files) as root, Submission(root) as submission:
            for each in found:
                task_id = each.task.id
                verdict = judge(each, submission, grades.seeds[task_id], seconds, gigabytes)
                one.verdicts[task_id] = verdict
                done(verdict)
    except KeyboardInterrupt:
        grades.interrupted = True
    except SubmissionError as error:
        _unread(grades, one, error)
    return grades


def _unread(grades: Grades, one: Graded, error: Exception) -> None:
    """Make what is wrong with a submission the verdict on each task that has none."""
    one.trouble = in_one_line(why_not(error))
    for task in grades.tasks:
        one.verdicts.setdefault(task.id, Verdict(task, "no file", one.trouble))


def _begun(found: list[TaskFile], paths: Sequence[Path], seed: int | None) -> Grades:
    """The grades before anything is graded."""
    tasks = [each.task for each in found]
    seeds = {t.id: secrets.randbits(31) if seed is None else seed for t in tasks}
    return Grades(tasks, [Graded(name) for name in names(paths)], seeds)


def json_of(grades: Grades) -> str:
    """Everything, as JSON."""
    return json.dumps(grades.as_dict(), indent=1, ensure_ascii=False) + "\n"
