"""What a task is, and where tasks are: one file each in tasks/, packed in a student's copy."""

import atexit
import functools
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType

from helpers.check.marks import TaskError, around, regions
from helpers.clone import ROOT, need_clone
from helpers.syllabus import NUMBERS
from helpers.words import listed

LABS = "primer DP PP DP_PP TP CP EP forensics gpt2 puzzles jobs".split()
PACKED = "tasks.zip"  # in a student's copy: tasks, answers, and the scripts with their solutions
SOLVED = "LAB_SOLVED"  # tells ranks where that has been unpacked


@dataclass(frozen=True)
class Task:
    """One exercise. Its file gives LESSON, MINUTES, HINTS and what else isn't a default."""

    lesson: str  # its name
    minutes: int  # as a student needs; the points follow from them
    hints: tuple[str, ...] = ()  # from a nudge to nearly the answer
    ranks: int = 0  # on how many the work runs; 0 is one process without torch.distributed
    seconds: float = 60.0  # for the work alone
    page: str = ""  # where the task stands, if not in its lesson
    libraries: tuple[str, ...] = ()  # what it imports, if that takes seconds
    functions: tuple[str, ...] = ()  # to write, "Pipe.forward" of a method: around the marks
    title: str = ""  # "average the gradients", as the first line of its file says after the id
    id: str = ""  # that of tasks/dp_1.py is "DP-1"
    file: str = ""  # the script with the marks, from the repository's root
    side: ModuleType | None = field(default=None, repr=False, compare=False)  # its file in tasks/

    @property
    def points(self) -> int:
        """A point for two minutes, rounded to 5, and at least 5."""
        return max(5, 5 * ((self.minutes + 5) // 10))

    @property
    def number(self) -> str:
        return NUMBERS[self.lesson]

    @property
    def calls(self) -> str:
        return listed([f"{name}()" for name in self.functions])

    @property
    def stub(self) -> str:
        """What stands in the place of the solution before it's written."""
        first, second = f"Task {self.id}: {self.title}. ", f"Write {self.calls} in {self.file}."
        first, second = (json.dumps(text, ensure_ascii=False) for text in (first, second))
        return f"raise NotImplementedError(\n    {first}\n    {second}\n)"


def lab() -> Path:
    """Return the lab that somebody works in: the first from this folder up, else where this is."""
    here = Path.cwd().resolve()
    labs = (folder for folder in (here, *here.parents) if (folder / "helpers" / "check").is_dir())
    return next(labs, ROOT)


def solved() -> Path:
    """Return where tasks and solutions are: the repository, or what a student's copy packs."""
    if SOLVED in os.environ:
        return Path(os.environ[SOLVED])
    if (lab() / PACKED).exists():
        return _unpacked(lab() / PACKED)
    if (lab() / "tasks").is_dir():
        return lab()
    need_clone()
    return ROOT


@functools.cache
def _unpacked(packed: Path) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="lab-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.unpack_archive(packed, folder)
    return folder


@functools.cache
def solutions() -> dict[str, Path]:
    """Return {task: the script with its solution}, in the order of their ids."""
    scripts = (path for lab in LABS for path in sorted((solved() / lab).rglob("*.py")))
    texts = ((path, path.read_text("utf-8")) for path in scripts)
    found = {region["task"]: path for path, text in texts for region in regions(text)}
    ids = sorted(found, key=lambda i: [(part.isdigit(), part.zfill(3)) for part in i.split("-")])
    return {task_id: found[task_id] for task_id in ids}


def task_ids() -> list[str]:
    return list(solutions())


def solution_text(task: Task) -> str:
    """Return the script with the solution, still marked."""
    return (solved() / task.file).read_text("utf-8")


@functools.cache
def load_task(task_id: str) -> Task:
    """Read tasks/dp_1.py for "DP-1"; for "PZ-1" a row of TASKS in tasks/pz.py."""
    if task_id not in solutions():
        raise TaskError(f"there is no task {task_id!r}: the tasks are {', '.join(solutions())}")
    name, path = task_id.lower().replace("-", "_"), solutions()[task_id]
    table = name.rpartition("_")[0]
    several = (solved() / "tasks" / f"{table}.py").exists()
    side = part_of_tasks(table).TASKS[task_id] if several else part_of_tasks(name)
    facts = {
        "title": (side.__doc__ or "").split("\n")[0].partition(": ")[2].rstrip("."),
        "functions": tuple(around(path.read_text("utf-8"), task_id)),
        "file": path.relative_to(solved()).as_posix(),
    }
    known = {field.name.upper() for field in fields(Task)} - {"ID", "FILE", "SIDE"}
    facts |= {name.lower(): fact for name, fact in vars(side).items() if name in known}
    return Task(**facts, id=task_id, side=side)


@functools.cache
def part_of_tasks(name: str) -> ModuleType:
    """Import a file of tasks/, wherever that is: "answers/micro_batches"."""
    if str(solved()) not in sys.path:
        sys.path.append(str(solved()))  # what several of them share is imported from `tasks`
    return load_module(solved() / "tasks" / f"{name}.py", f"lab_{Path(name).name}")


def load_module(path: Path, name: str) -> ModuleType:
    """Import the file at `path` under `name`, whatever the import path is."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def all_tasks() -> list[Task]:
    """Return every task, in the order in which lessons ask for them."""
    lessons = sorted((lab() / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    text = "".join(path.read_text("utf-8") for path in lessons)
    cells = [*re.findall(r'"check\(\\"([A-Z0-9-]+)\\"', text), *task_ids()]
    return sorted(map(load_task, task_ids()), key=lambda task: (task.number, cells.index(task.id)))


def tasks_of(names: Iterable[str]) -> list[Task]:
    """Return the tasks of "PP-2", a lab ("PP") or a lesson ("06"); none: all. Raises TaskError."""
    found: dict[Task, None] = {}
    for name in names:
        upper = name.upper()
        some = [t for t in all_tasks() if upper in (t.id, t.id.rpartition("-")[0], t.number)]
        if not some:
            raise TaskError(f"there is no task, lab or lesson {name!r}: {', '.join(task_ids())}")
        found |= dict.fromkeys(some)
    return list(found or all_tasks())
