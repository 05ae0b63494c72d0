"""On each rank: run the solution and the work on the same cases, observed by the same function."""

import contextlib
import copy
import io
import linecache
import os
import random
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import torch

from helpers.check.task import SOLVED, Task, load_task, solved
from helpers.ranks import LaunchReport, keep_warm, launch

WORK = "work"  # the name of what isn't our own
OURS_S = 600.0  # our own code ends, however busy the machine is
# What tasks and scripts import: once, in the process that ranks are forked from.
OFTEN = ("helpers.check.ranks", "helpers.grid", "helpers.parallel", "helpers.pipeline")
OFTEN += ("helpers.ranks.script", "helpers.trace", "simplellm.dataloaders", "simplellm.models")


def launched(task: Task, works: dict[str, tuple], cases: list) -> tuple[dict, LaunchReport]:
    """Run works on the task's ranks: return {name: observations}, and the launch's report.

    works: {name: (folder, source)}, in the order in which they run; a source of None is that of the
        file. With ranks an observation is a list, with one of each.
    """
    ranks = max(1, task.ranks)
    linecache.checkcache()  # a failure shows a line as it stands now
    keep_warm(ranks, {*OFTEN, *task.libraries})
    with tempfile.TemporaryDirectory(prefix="check-", ignore_cleanup_errors=True) as place:
        report = launch(
            observed, ranks, (task.id, works, cases, str(solved()), place),
            timeout=task.seconds if WORK in works else OURS_S,
            backend="gloo", on_error="report", quiet=True,
        )  # fmt: skip
    if report.failure:
        return {}, report
    first, *_ = report.results
    if not task.ranks:
        return first, report
    of_ranks = {name: zip(*(r[name] for r in report.results), strict=True) for name in first}
    return {name: list(map(list, seen)) for name, seen in of_ranks.items()}, report


def observed(
    task_id: str, works: dict[str, tuple], cases: list, ours: str, place: str
) -> dict[str, list]:
    """Return {name: what the task's `observe` returns for each case}."""
    os.environ[SOLVED] = ours
    task = load_task(task_id)
    before, path, seen = set(sys.modules), list(sys.path), {}
    os.chdir(place)
    for name, (folder, source) in works.items():
        random.seed(0)
        torch.manual_seed(0)  # each begins as if it ran alone
        shown = sys.stdout if name == WORK else io.StringIO()
        with contextlib.redirect_stdout(shown):
            module = load(Path(folder), task.file, source)
            seen[name] = [task.side.observe(module, copy.deepcopy(case)) for case in cases]
        forget(before, (folder, ours))
        sys.path[:] = path
    return seen


def load(root: Path, file: str, source: str | None) -> ModuleType:
    """Import a script from its source, as if it lay in the file, among the file's neighbors.

    Its folder comes last on the import path: a file there that is called like a part of Python
    doesn't take that part's place. What it lacks is taken from the lab.
    """
    path, top = root / file, solved() / file.split("/")[0]
    source = path.read_text("utf-8") if source is None else source
    sys.path += [str(path.parent), str((solved() / file).parent)]
    if (top / "project").is_dir():  # gpt2: a program of its own, with names of its own
        sys.path.insert(0, str(top))
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    linecache.cache[str(path)] = (len(source), None, source.splitlines(True), str(path))
    sys.modules[path.stem] = module
    exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    return module


def forget(before: set[str], folders: tuple[str, ...]) -> None:
    """Drop what a script has imported from the labs, as the next one may bring its own."""
    kept = ("helpers", "simplellm", "tasks")
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        ours = file.startswith(folders) and "site-packages" not in file
        if ours and name.split(".")[0] not in kept and not name.startswith("lab_"):
            del sys.modules[name]
