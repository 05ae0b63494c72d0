"""What a task is, and where tasks are: one file each in tasks/, packed in a student's copy."""

import atexit
import functools
import importlib.util
import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType

from helpers.check.marks import TaskError, around, regions
from helpers.clone import ROOT, need_clone
from helpers.syllabus import by_name
from helpers.words import listed

LABS = "primer DP PP DP_PP TP CP EP forensics gpt2 puzzles jobs".split()
PACKED = "tasks.zip"  # in a student's copy: tasks, answers, and the scripts with their solutions


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
    title: str = ""  # "average the gradients", as the first line of its file says behind the id
    id: str = ""  # that of tasks/dp_1.py is "DP-1"
    file: str = ""  # the script with the marks, from the repository's root
    side: ModuleType | None = field(default=None, repr=False, compare=False)  # its file in tasks/

    @property
    def points(self) -> int:
        """A point for two minutes, rounded to 5, and at least 5."""
        return max(5, 5 * ((self.minutes + 5) // 10))

    @property
    def number(self) -> str:
        return by_name(self.lesson).number

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
    for folder in (here, *here.parents):
        if (folder / "helpers" / "check").is_dir():
            return folder
    return ROOT


def solved() -> Path:
    """Return where tasks and solutions are: the repository, or what a student's copy packs."""
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
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder)
    return folder


def task_ids() -> list[str]:
    """Return the ids of all tasks, for which scripts have solutions."""
    ids = solutions(solved())
    return sorted(ids, key=lambda i: [(p.isdigit(), p.zfill(3)) for p in i.split("-")])


def load_task(task_id: str) -> Task:
    if task_id not in task_ids():
        raise TaskError(f"there is no task {task_id!r}: the tasks are {', '.join(task_ids())}")
    return read_task(task_id, solved())


@functools.cache
def read_task(task_id: str, folder: Path) -> Task:
    side = side_of(task_id, folder)
    path = solutions(folder)[task_id]
    facts = {
        "title": (side.__doc__ or "").split("\n")[0].partition(": ")[2].rstrip("."),
        "functions": tuple(around(path.read_text("utf-8"), task_id)),
        "file": path.relative_to(folder).as_posix(),
    }
    known = {field.name.upper() for field in fields(Task)} - {"ID", "FILE", "SIDE"}
    facts |= {name.lower(): fact for name, fact in vars(side).items() if name in known}
    return Task(**facts, id=task_id, side=side)


def side_of(task_id: str, folder: Path) -> ModuleType:
    """Import the file of a task: tasks/dp_1.py for "DP-1"; of PZ, a row of TASKS in tasks/pz.py."""
    name = task_id.lower().replace("-", "_")
    lab = name.rpartition("_")[0]
    several = (folder / "tasks" / f"{lab}.py").exists()
    return _part(lab, folder).TASKS[task_id] if several else _part(name, folder)


@functools.cache
def solutions(folder: Path) -> dict[str, Path]:
    """Return {task: the script with its solution}."""
    scripts = (path for lab in LABS for path in sorted((folder / lab).rglob("*.py")))
    texts = ((path, path.read_text("utf-8")) for path in scripts)
    return {region["task"]: path for path, text in texts for region in regions(text)}


def part_of_tasks(name: str) -> ModuleType:
    """Import a file of tasks/, wherever that is: "answers/micro_batches"."""
    return _part(name, solved())


@functools.cache
def _part(name: str, folder: Path) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # what several of them share is imported from `tasks`
    return load_module(folder / "tasks" / f"{name}.py", f"lab_{Path(name).name}")


def load_module(path: Path, name: str) -> ModuleType:
    """Import the file at `path` under `name`, whatever the import path is."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def all_tasks() -> list[Task]:
    """Return every task, in the order in which lessons ask for them."""
    cells: dict[str, None] = {}
    for path in sorted((lab() / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        cells |= dict.fromkeys(re.findall(r'"check\(\\"([A-Z0-9-]+)\\"', path.read_text("utf-8")))
    places = {task_id: place for place, task_id in enumerate(cells)}
    tasks = map(load_task, task_ids())
    return sorted(tasks, key=lambda task: (task.number, places.get(task.id, len(places))))


def tasks_of(names: Iterable[str]) -> list[Task]:
    """Return the tasks that names stand for: "PP-2", a lab ("PP"), a lesson ("06"); none: all."""
    found: dict[Task, None] = {}
    for name in names:
        upper = name.upper()
        some = [t for t in all_tasks() if upper in (t.id, t.id.rpartition("-")[0], t.number)]
        if not some:
            raise TaskError(f"there is no task, lab or lesson {name!r}: {', '.join(task_ids())}")
        found |= dict.fromkeys(some)
    return list(found or all_tasks())
