"""The lab's own side of a check: the reference, and mutants of it, in a process of their own.

A task names its mutants, `{sentence: {"a line of the solution": "what takes its place"}}`. The
reference and its mutants run as the work does, on the same cases and observed by the same function,
but on ranks that have never imported any work. They run when they are asked for: the mutants only
where the work differs from the reference, and all of them in one launch.
"""

import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from helpers.grade.copy import OWN_ROOTS, copy_lab, copy_work
from helpers.grade.marks import find_regions, replace_regions
from helpers.grade.parcel import pack, unpack
from helpers.grade.task import ROOT, Task, TaskError, TaskFile, packed_solutions
from helpers.grade.workshop import observe
from helpers.ranks import launch

SECONDS = 120.0  # the lab's own code ends; on a busy machine it may take its time
Change = dict[str, str] | str


def mutated(task: Task, change: Change, text: str) -> str:
    """Return the text of the task's file with its solution changed.

    change: {a piece of the solution: what takes its place}, or a whole body for it. Further lines
    of what takes a piece's place are indented as the line is that it stands in.

    Raises:
        TaskError: a piece doesn't stand in the solution exactly once.
    """
    pieces = change if isinstance(change, dict) else {}
    solution = "\n".join(r.body for r in find_regions(text, task.file) if r.task == task.id)
    for old in pieces:
        if (count := solution.count(old)) != 1:
            times = "is not in" if not count else f"stands {count} times in"
            raise TaskError(f"task {task.id}: {old!r} {times} the solution, and must stand once")

    def new(region):
        body = region.body
        if region.task == task.id:
            body = change if isinstance(change, str) else body
            for old, changed in pieces.items():
                line = next((line for line in body.splitlines() if old.split("\n")[0] in line), "")
                indent = line[: len(line) - len(line.lstrip())]
                body = body.replace(old, changed.replace("\n", f"\n{indent}"))
        return body

    return replace_regions(text, new, task.file)


class Lab:
    """Runs references and mutants, on ranks of this process, which has never imported any work.

    Args:
        tasks: the folder of the tasks.
        root: where the scripts are that solutions stand in.
    """

    def __init__(self, tasks: Path = ROOT / "tasks", root: Path = ROOT):
        self._root, self._tasks = root, tasks
        self._lock = threading.Lock()
        self._known: dict[tuple[str, int], Reference] = {}

    def reference(self, found: TaskFile, truth: ModuleType, seed: int) -> "Reference":
        """Return what work on a task is compared with; drawn once for each seed."""
        with self._lock:
            key = (found.task.id, seed)
            if key not in self._known:
                self._known.clear()  # one at a time: many submissions come task by task
                self._known[key] = Reference(self, found, truth, list(truth.cases(seed)))
            return self._known[key]

    def observe(self, found: TaskFile, changes: list[Change], cases: list) -> list[list]:
        """Run the solution, changed in each of these ways, on every case.

        Raises TaskError for a wrong change, and where one of them crashes or hangs.
        """
        with self._lock, tempfile.TemporaryDirectory(prefix="lab-") as place:
            works = [self._work(found.task, Path(place, str(n)), c) for n, c in enumerate(changes)]
            lab = Path(place, "lab")
            if (top := found.task.file.split("/")[0]) in OWN_ROOTS:
                self._solved(lab, top, lambda: copy_lab(found.task, lab))
            path = Path(place, f"{found.path.stem}.py")
            path.write_text(found.shown(), encoding="utf-8")
            ranks, each = max(1, found.task.ranks), len(cases)
            around = str(lab) if lab.exists() else ""
            report = launch(
                observe,
                ranks,
                (str(path), str(self._tasks), works, around, cases, place),
                backend="gloo",
                timeout=max(SECONDS, found.task.seconds),
                on_error="report",
                quiet=True,
            )
        if failed := report.failure:
            what = "a mutant" if any(changes) else "the solution"
            sentence = f"{what} of {found.task.id} doesn't run: {failed}\n{failed.traceback}"
            raise TaskError(sentence)
        of_ranks = zip(*report.results, strict=True)
        seen = [list(r) if found.task.ranks else r[0] for r in of_ranks]
        # As the work's observations come: what can't travel is no observation.
        return [unpack(pack(seen[n * each : (n + 1) * each])) for n in range(len(changes))]

    def _work(self, task: Task, folder: Path, change: Change) -> str:
        """Write the changed solution, and what lies beside its file, into a new folder."""
        beside = task.file.rpartition("/")[0]
        self._solved(folder, beside, lambda: copy_work(self._root, task, folder))
        path = folder / task.file
        path.write_text(mutated(task, change, path.read_text(encoding="utf-8")), encoding="utf-8")
        return str(path)

    def _solved(self, to: Path, below: str, copy: Callable[[], None]) -> None:
        """Copy the scripts below a folder of the lab, with their solutions."""
        packed = packed_solutions(self._tasks)
        for name, text in packed.items():
            if name.startswith(f"{below}/"):
                (to / name).parent.mkdir(parents=True, exist_ok=True)
                (to / name).write_text(text, encoding="utf-8")
        if not packed:
            copy()


class Reference:
    """What `verify` compares with, for a task that names mutants: its truth, run when asked for."""

    def __init__(self, lab: Lab, found: TaskFile, truth: ModuleType, cases: list):
        self.cases, self._lab, self._found, self._truth = cases, lab, found, truth
        self._number = {id(case): n for n, case in enumerate(cases)}
        # It runs while the work does.
        self._right = ThreadPoolExecutor(1).submit(lab.observe, found, [{}], cases)
        self.MISTAKES = {
            sentence: lambda case, n=n: self._mutants[n][self._number[id(case)]]
            for n, sentence in enumerate(truth.MUTANTS)
        }

    def __getattr__(self, name: str) -> Any:
        """What the task says besides: `explain`, `stopped`, `passed`, a tolerance."""
        return getattr(self._truth, name)

    def truth(self, case: Any) -> Any:
        """Return what the reference leads to."""
        return self._right.result()[0][self._number[id(case)]]

    @cached_property
    def _mutants(self) -> list[list]:
        return self._lab.observe(self._found, list(self._truth.MUTANTS.values()), self.cases)
