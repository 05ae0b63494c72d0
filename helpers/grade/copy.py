"""Copy a submission's file, and what lies beside it: the original is never run or changed."""

import os
import stat
from pathlib import Path

from helpers.grade.marks import Region, replace_regions
from helpers.grade.task import ROOT, Task

MOST_FILES, MOST_BYTES = 500, 20_000_000
MOST_SOURCE = 500_000  # bytes of the task's own file, which is read as Python
OWN_ROOTS = ("gpt2",)  # labs with top-level names of their own, which checks import
# Tasks whose check runs the solutions of others: the pipeline of GPT-2 is built from these.
NEEDED = {"GP-7": ("GP-3", "GP-4", "GP-5")}
SKIPPED = {"__pycache__", "build", "runs", "node_modules"}


class CopyError(OSError):
    """The file cannot be taken; the message says why and what to do."""


def copy_work(root: Path, task: Task, to: Path) -> None:
    """Copy the task's file and the Python files beside and below it from `root` to `to`.

    Links aren't followed, so that only what was handed in is graded, and no file from elsewhere. A
    missing file isn't copied; `look_at` reports it. Raises CopyError.
    """
    to.mkdir(parents=True)
    _no_links(root, task.file)
    parts = task.file.split("/")
    folder = root.joinpath(*parts[:-1])
    _no_flood(folder / parts[-1], task.file)
    names = _beside(folder) if len(parts) > 1 else []
    size = 0
    for name in dict.fromkeys([parts[-1], *names]):
        target = to.joinpath(*parts[:-1], name)
        data = read_plain(folder / name, MOST_BYTES - size)
        if data is None:
            continue
        size += len(data)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def copy_lab(task: Task, to: Path) -> None:
    """Copy what stands around the task's file in the grader's lab, where checks import it.

    Solutions are not in the copy: a stub is in the place of each. One check alone, that of GP-7,
    runs the solutions of other tasks (`NEEDED`), so work on GP-7 can read those.
    """
    top = task.file.split("/")[0]
    if top not in OWN_ROOTS:
        return
    for name in _beside(ROOT / top):
        data = read_plain(ROOT / top / name, MOST_BYTES)
        if data is None:  # somebody has removed it meanwhile
            continue
        if name.endswith(".py") and b"SOLUTION" in data:
            data = replace_regions(data.decode(), lambda r: _shown(r, task), name).encode()
        target = to / top / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _shown(region: Region, task: Task) -> str:
    """What stands in the place of a solution while `task` is checked."""
    if region.task in NEEDED.get(task.id, ()):
        return region.body
    if region.task == task.id:
        return task.stub()
    return f'raise NotImplementedError("the solution of {region.task} is not shown here")'


def _no_links(root: Path, name: str) -> None:
    parts = name.split("/")
    for count in range(1, len(parts) + 1):
        if root.joinpath(*parts[:count]).is_symlink():
            raise CopyError(
                f"{'/'.join(parts[:count])} is a link, and links are not followed: hand in the "
                "file itself"
            )


def _no_flood(path: Path, name: str) -> None:
    if path.is_file() and path.stat().st_size > MOST_SOURCE:
        raise CopyError(
            f"{name} has {path.stat().st_size / 1000:,.0f} kB, and a task's file has at most "
            f"{MOST_SOURCE / 1000:,.0f}: hand in the file that the task names"
        )


def _beside(folder: Path) -> list[str]:
    """The names of the Python files in a folder and below it, few enough to be somebody's work."""
    found: list[str] = []
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        found += [
            Path(here, name).relative_to(folder).as_posix()
            for name in sorted(files)
            if name.endswith((".py", ".json"))
        ]
        if len(found) > MOST_FILES:
            return found[:MOST_FILES]
    return found


def read_plain(path: Path, most: int) -> bytes | None:
    """Return the bytes of a plain file; None for anything else, or where it is too large."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        data = file.read(most + 1)
    return data if len(data) <= most else None
