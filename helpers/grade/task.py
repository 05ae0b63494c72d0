"""What a task is, where tasks are found (one file each in the folder tasks/), and which belong to a
lab: by the letters of their ids, or by their lesson."""

import functools
import importlib.util
import json
import re
import sys
import zipfile
import zipimport
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from helpers.clone import ROOT, need_clone
from helpers.grade.marks import TASK_ID
from helpers.grade.shown import shown_part
from helpers.syllabus import by_name
from helpers.words import listed

HINTS = 3
KINDS = {
    "practice": "a function to write, to have understood it",
    "evidence": "passing it shows that every rank sent what it should, or that many devices equal "
    "one: a task to hear a student explain, and to mark",
    "prize": "scored too, so that two passes can be compared",
}
PACKED = "whole.zip"  # beside the tasks in the student edition: the whole tasks, and the next two
ANSWERS = "answers"  # to what the lessons ask
SOLUTIONS = "solutions.json"


class WorkFailed(Exception):
    """The work can't be run, or crashed, hung or ended itself.

    kind: "no file", "syntax", "no function", "not done" (a stub was called), "time-out", "limit",
    "crash" or "check" (it isn't the work's mistake).
    sentence: what happened, with rank and line; details: Python's own words, for a person.
    picture: the SVG and the words of a picture of what went wrong, where there is one.
    printed: as in a verdict. waits: (rank, operation, peer) for each rank that waited, in a hang.
    misfit: what differs, where operations of several ranks don't fit: see `helpers.hang.cases`.
    """

    def __init__(
        self,
        kind: str,
        sentence: str,
        details: str = "",
        picture: tuple = (),
        printed: str = "",
        waits: tuple = (),
        misfit: str = "",
    ):
        super().__init__(sentence)
        self.kind, self.sentence, self.details, self.picture = kind, sentence, details, picture
        self.printed, self.waits, self.misfit = printed, waits, misfit


class TaskError(ValueError):
    """A task file is wrong, or a task is unknown; the message says which and what to do."""


@dataclass(frozen=True)
class Task:
    """One exercise.

    title: what to do, in a few words: "average the gradients".
    file, function: where to write it; `file` from the repository's root, with "/"; a method with
    its class, "Pipe.forward". also: further functions there.
    lesson: the name of the lesson that it belongs to. page: where it stands, if not in that lesson.
    minutes: about how long it takes; the points follow from it.
    hints: three, from a nudge to nearly the answer.
    kind: one of KINDS, which says what each of them is for.
    seconds: how long a check may take before it is stopped.
    libraries: modules that the work imports and that take seconds, torch not among them: they are
    imported once for all ranks, where ranks can be forked.
    done_by: names in `helpers` that do the task already, so that the work may not import them.
    ranks: on how many ranks the work runs; 0 runs it in one process, without torch.distributed.
    id: stable, as the name of its file says: that of tasks/dp_1.py is "DP-1".
    """

    title: str
    file: str
    function: str
    lesson: str
    minutes: int
    hints: tuple[str, str, str]
    kind: str = "practice"
    seconds: float = 60.0
    libraries: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    done_by: tuple[str, ...] = ()
    ranks: int = 0
    page: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        name = self.id or repr(self.title)  # while its file is read it has no id yet
        if self.id and not TASK_ID.fullmatch(self.id):
            raise TaskError(f"task id {self.id!r}: write capital letters, digits and '-': 'DP-1'")
        if len(self.hints) != HINTS or not all(self.hints):
            raise TaskError(f"task {name}: give {HINTS} hints, not {len(self.hints)}")
        if self.kind not in KINDS:
            raise TaskError(f"task {name}: kind {self.kind!r} is none of {', '.join(KINDS)}")
        if self.minutes <= 0 or self.seconds <= 0:
            raise TaskError(f"task {name}: minutes and seconds must be above 0")
        if "\\" in self.file or self.file.startswith("/") or ".." in self.file.split("/"):
            raise TaskError(
                f"task {name}: give the file from the repository's root, with '/', "
                f"not {self.file!r}"
            )

    def stub(self) -> str:
        """The code that stands in the student edition in place of the solution."""
        first, second = (
            json.dumps(text, ensure_ascii=False)
            for text in (f"Task {self.id}: {self.title}. ", self._where)
        )
        return f"raise NotImplementedError(\n    {first}\n    {second}\n)"

    @property
    def points(self) -> int:
        """A point for two minutes, rounded to 5 (a half up), and at least 5."""
        return max(5, 5 * ((self.minutes + 5) // 10))

    @property
    def number(self) -> str:
        """The number of its lesson."""
        return by_name(self.lesson).number

    @property
    def not_done(self) -> str:
        """The message of the stub."""
        return f"Task {self.id}: {self.title}. {self._where}"

    @property
    def _where(self) -> str:
        return f"Write {self.listed('{}()')} in {self.file}."

    @property
    def functions(self) -> tuple[str, ...]:
        return (self.function, *self.also)

    def listed(self, form: str) -> str:
        """Its functions in words: "f", "f and g", "f, g and h". form: of each, "{}" is its name."""
        return listed(map(form.format, self.functions))


@dataclass(frozen=True)
class TaskFile:
    """A task, and the file that it comes from."""

    task: Task
    path: Path

    def shown(self) -> str:
        """Return the source that the process of the work may see: facts, and how to observe it."""
        return shown_part(self.path.read_text(encoding="utf-8"))


def task_ids(folder: Path | None = None) -> list[str]:
    """The ids of all tasks, from the names of their files alone: tasks/dp_1.py holds "DP-1"."""
    if folder is None:
        need_clone()
        folder = ROOT / "tasks"
    paths = (path for path in folder.glob("*.py") if not path.stem.startswith("_"))
    return sorted(map(_id_of, paths), key=_in_order)


def load_task(task_id: str, folder: Path | None = None) -> TaskFile:
    """The task with this id.  Raises TaskError for an unknown id and for a wrong file."""
    folder = folder or ROOT / "tasks"
    ids = task_ids(folder)
    if task_id not in ids:
        raise TaskError(
            f"there is no task {task_id!r}: the tasks are {', '.join(ids) or 'none'} "
            f"(one file each in {folder})"
        )
    return read_task(folder / (task_id.lower().replace("-", "_") + ".py"))


def read_task(path: Path) -> TaskFile:
    """The task in a file, whose name says its id. Raises TaskError for a file that isn't one."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))  # what several tasks share is imported from `tasks`
    module = load_module(path, f"lab_task_{path.stem}")
    if not hasattr(module, "TASK") or not hasattr(module, "observe"):
        raise TaskError(f"{path}: a task file must define TASK and observe")
    return TaskFile(replace(module.TASK, id=_id_of(path)), path)


def _id_of(path: Path) -> str:
    return path.stem.upper().replace("_", "-")


def lab_of(task_id: str) -> str:
    """The lab of a task: "PP" of "PP-2", "DP-PP" of "DP-PP-1", "PZ" of "PZ-P0"."""
    return task_id.rpartition("-")[0] or task_id


def all_tasks() -> list[Task]:
    """Every task, in the order of the lessons, and within one as the lesson asks for them."""
    tasks = [load_task(task_id).task for task_id in task_ids()]
    places = asked_in_lessons()
    last = len(places)  # a task that no lesson asks for; these stay in the order of their ids
    return sorted(tasks, key=lambda task: (task.number, places.get(task.id, last)))


def asked_in_lessons() -> dict[str, int]:
    """The ids that lessons check in a cell, and the place of each: 0 for the first."""
    ids: dict[str, None] = {}
    for path in sorted((ROOT / "notebooks" / "source").glob("[0-9][0-9]_*.py")):
        text = path.read_text(encoding="utf-8")
        ids |= dict.fromkeys(re.findall(r'^check\("([^"]+)"\)', text, re.MULTILINE))
    return {task_id: place for place, task_id in enumerate(ids)}


def tasks_of(names: Iterable[str]) -> list[str]:
    """The ids that names stand for: a task ("PP-2"), a lab ("PP") or a lesson ("06").

    Those of one name come in the order of `all_tasks`. Raises TaskError for a name that is none of
    these.
    """
    tasks = {task.id: task for task in all_tasks()}
    found: dict[str, None] = {}
    for name in names:
        ids = [
            task_id
            for task_id, task in tasks.items()
            if name.upper() in (task_id, lab_of(task_id)) or name in (task.number, task.lesson)
        ]
        if not ids:
            labs = ", ".join(dict.fromkeys(map(lab_of, tasks)))
            raise TaskError(
                f"there is no task {name!r}: the tasks are {', '.join(tasks)} (one file each in "
                f"{ROOT / 'tasks'}); a lab ({labs}) or the number or name of a lesson names several"
            )
        found |= dict.fromkeys(ids)
    return list(found)


def load_whole(found: TaskFile) -> ModuleType:
    """The whole of a task: cases too, and what is right and wrong. Never called where work runs.

    In the student edition that lies in an archive, so that nobody reads it by accident.
    """
    module = load_module(found.path, f"lab_task_{found.path.stem}")
    return module if hasattr(module, "cases") else load_packed(found.path.parent, found.path.stem)


def load_packed(folder: Path, name: str, part: str = "") -> ModuleType:
    """A module that the student edition packs: a whole task, or one of a part of the folder.

    Raises TaskError where it's neither there nor packed.
    """
    path = folder / part / f"{name}.py"
    if part and path.exists():
        return load_module(path, f"lab_{part}_{name}")
    try:
        spec = zipimport.zipimporter(str(folder / PACKED / part)).find_spec(name)
    except zipimport.ZipImportError:
        spec = None
    if spec is None:
        raise TaskError(f"there is no {name}.py in {folder / PACKED / part}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def packed_solutions(folder: Path) -> dict[str, str]:
    """{file: its text with the solutions} in the student edition; elsewhere files have them."""
    try:
        with zipfile.ZipFile(folder / PACKED) as archive:
            return json.loads(archive.read(SOLUTIONS))
    except (OSError, KeyError, zipfile.BadZipFile):
        return {}


def load_module(path: Path, name: str) -> ModuleType:
    """Import the file at `path` under `name`, whatever the import path is."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _in_order(task_id: str) -> list:
    """Sort DP-2 before DP-10."""
    return [(part.isdigit(), int(part) if part.isdigit() else part) for part in task_id.split("-")]
