"""The lab's own side of a check: the reference, and mutants of it, in a process of their own.

A task names its mutants, `{("a piece of the solution", "what takes its place"): sentence}`; in
place of the pair may stand several, or a whole body. The reference and its mutants run as the work
does, on the same cases and observed by the same function, but on ranks that have never imported any
work. They run when they are asked for: mutants only where the work differs from the reference, and
all of them in one launch.
"""

import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType

from helpers.grade.copy import OWN_ROOTS, copy_lab, copy_work
from helpers.grade.marks import find_regions, replace_regions
from helpers.grade.payload import pack, unpack
from helpers.grade.task import ROOT, Task, TaskError, TaskFile, packed_solutions
from helpers.grade.workshop import LIBRARIES, observe
from helpers.ranks import keep_warm, launch

SECONDS = 600.0  # the lab's own code ends, however busy the machine is
Change = dict[str, str] | str


def mutants_of(side: ModuleType) -> dict[str, Change]:
    """Return {sentence: change} of the mutants that a task names, as `mutated` takes a change."""

    def change(key: tuple | str) -> Change:
        if isinstance(key, str):
            return key
        return dict([key] if isinstance(key[0], str) else key)

    return {sentence: change(key) for key, sentence in side.MUTANTS.items()}


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
        tasks: the folder of the tasks; beside it are the scripts that solutions stand in.
    """

    def __init__(self, tasks: Path = ROOT / "tasks"):
        self._root, self._tasks = tasks.parent, tasks
        self._lock = threading.Lock()

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
            keep_warm(1, {*LIBRARIES, *found.task.libraries})
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
    """What right work on a task leads to, and each of its mutants; they run when asked for.

    Args:
        side: the whole module of the task.
    """

    def __init__(self, lab: Lab, found: TaskFile, side: ModuleType, cases: list):
        self._observe, self._cases = partial(lab.observe, found), cases
        self._changes = mutants_of(side)
        # While the work runs.
        self._right = ThreadPoolExecutor(1).submit(self._observe, [{}], cases)

    @property
    def right(self) -> list:
        """What the solution leads to in each case."""
        return self._right.result()[0]

    def mutants(self, cases: int | None = None, of: Sequence[str] = ()) -> dict[str, list]:
        """{sentence: what this mistake leads to in each case}.

        Args:
            cases: how many of them, from the first on; every one unless told.
            of: the sentences of the mutants that run; all of them unless told.
        """
        changes = {each: self._changes[each] for each in of or self._changes}
        seen = self._observe(list(changes.values()), self._cases[:cases])
        return dict(zip(changes, seen, strict=True))
