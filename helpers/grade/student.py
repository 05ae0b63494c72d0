"""`python -m helpers.grade.student [--out FOLDER] [--force]`: write the student edition.

It is the whole repository with each solution replaced by a stub that names its task. What would
give solutions away is left out, and the truth that checks compare with is packed; tests and
notebooks stay. The same repository gives the same edition, to the byte.
"""

import argparse
import sys
import zipfile
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from helpers.grade.folder import Content, FolderError, write_folder
from helpers.grade.leaks import Piece, functions_of, leaked, pieces_of
from helpers.grade.marks import (
    Region,
    find_regions,
    is_code,
    map_cells,
    notebook_cells,
    replace_regions,
)
from helpers.grade.task import PACKED, ROOT, load_task, task_ids
from helpers.grade.tracked import MARKER, tracked_files
from helpers.grade.words import why_not

# What only makes sense with the solutions beside it, and would give them away.
LEFT_OUT = ("tasks/programs/", "tests/grade/")
TRUTH = "tasks/truth/"  # goes into an archive: checks need it, and nobody is to read it by accident
WHEN = (1980, 1, 1, 0, 0, 0)  # zip's first day, so that the same truth gives the same bytes


class LeakError(ValueError):
    """A solution stands outside of its marks; the message says whose and where."""


@dataclass
class Edition:
    """The files of the student edition, and what was done to make them."""

    files: dict[str, Content] = field(default_factory=dict)
    stubs: list[str] = field(default_factory=list)  # "DP-1 in DP/gradient_aggr/intro_DP_GA.py"
    left_out: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)  # outputs that showed a solution
    source: str = "git"  # who said which files belong to it


def student_edition(root: Path = ROOT) -> Edition:
    """The student edition of the repository at `root`, in memory.

    Raises MarkError for wrong marks, LeakError where a solution would stay, TaskError for a
    wrong task file.
    """
    names, source = tracked_files(root)
    edition = Edition(source=source)
    edition.left_out = [name for name in names if name.startswith(LEFT_OUT)]
    names = [name for name in names if not name.startswith(LEFT_OUT)]
    truths = [name for name in names if name.startswith(TRUTH)]
    names = [name for name in names if name not in truths]
    ids = task_ids(root / "tasks")
    stubs = {task_id: load_task(task_id, root / "tasks").task.stub() for task_id in ids}

    data = {name: (root / name).read_bytes() for name in names}
    regions = {name: _regions(name, content, ids) for name, content in data.items()}
    pieces = pieces_of(region for found in regions.values() for region in found)
    pieces += [piece for name in truths for piece in pieces_of(functions_of(root / name))]
    for name, content in data.items():
        if regions[name]:
            content = _with_stubs(name, content.decode(), stubs).encode()
            edition.stubs += [f"{task} in {name}" for task in _tasks(regions[name])]
        if name.endswith(".ipynb"):
            content = _hide_outputs(name, content, pieces, edition.hidden)
        if task := leaked(content.decode(errors="replace"), pieces):
            raise LeakError(
                f"{name}: lines of the solution of {task} stand here outside of the marks, and "
                "would reach every student: put marks around them, or say it in other words"
            )
        executable = bool((root / name).stat().st_mode & 0o100)
        edition.files[name] = Content(content, executable)
    if truths:
        edition.files[f"tasks/{PACKED}"] = Content(_archive(root, truths))
    return edition


def _archive(root: Path, names: list[str]) -> bytes:
    """The truth of all tasks as a zip, which Python imports from as from a folder."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            entry = zipfile.ZipInfo(name.removeprefix("tasks/"), WHEN)
            entry.create_system, entry.compress_type = 3, zipfile.ZIP_DEFLATED
            archive.writestr(entry, (root / name).read_bytes())
    return out.getvalue()


def _regions(name: str, content: bytes, ids: list[str]) -> list[Region]:
    """The solutions in one file."""
    # Most files have none; and a file that holds no such word need not be well-formed.
    if not is_code(name) or b"solution" not in content.lower():
        return []
    if name.endswith(".py"):
        return find_regions(content.decode(), name, ids)
    cells = notebook_cells(content.decode(), name)
    return [region for where, text in cells for region in find_regions(text, where, ids)]


def _with_stubs(name: str, text: str, stubs: dict[str, str]) -> str:
    """A file with each solution replaced by its stub."""

    def stub(region: Region) -> str:
        return stubs[region.task]

    if name.endswith(".py"):
        return replace_regions(text, stub, name)

    def without_solution(cell: dict, where: str, source: str) -> None:
        new = replace_regions(source, stub, where)
        if new != source:  # its outputs were the solution's
            cell.update(source=new.splitlines(keepends=True), outputs=[], execution_count=None)

    return map_cells(text, name, without_solution)


def _hide_outputs(name: str, content: bytes, pieces: list[Piece], hidden: list[str]) -> bytes:
    """A notebook without the outputs that show a solution, as a diff of two scripts does."""

    def hide(cell: dict, where: str, source: str) -> None:
        for number, output in enumerate(cell.get("outputs", [])):
            if task := leaked("\n".join(_strings(output)), pieces):
                text = f"This shows the solution of {task}: do the task, then run this cell.\n"
                note = {"name": "stdout", "output_type": "stream", "text": [text]}
                cell["outputs"][number] = note
                hidden.append(f"{where} ({task})")

    return map_cells(content.decode(), name, hide).encode()


def _strings(value: object) -> list[str]:
    """Every text in a piece of JSON; a list of lines is one text."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ["".join(value)]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in _strings(item)]


def _tasks(regions: list[Region]) -> list[str]:
    return list(dict.fromkeys(region.task for region in regions))


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """0 if it was written, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.student", description="Write the student edition."
    )
    parser.add_argument(
        "--out", type=Path, help="the folder to write (default: build/student); an old one goes"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace it even if somebody has worked in it"
    )
    options = parser.parse_args(arguments)
    out = (options.out or root / "build" / "student").absolute()
    if (root / MARKER).exists():
        print("this is the student edition already: there is nothing to write")
        return 0
    try:
        if root.resolve().is_relative_to(out.resolve()):
            raise FolderError(f"{out} contains the repository itself: name another with --out")
        edition = student_edition(root)
        write_folder(out, edition.files, options.force)
    except (ValueError, OSError) as error:  # what the lab raises, and what the system does
        print(f"no student edition: {why_not(error)}", file=sys.stderr)
        return 1
    print(f"student edition: {len(edition.files)} files in {out}")
    if edition.source != "git":
        print(f"  all files were taken, because {edition.source}")
    for folder in LEFT_OUT:
        if count := sum(name.startswith(folder) for name in edition.left_out):
            print(f"  left out: {folder} ({count} file{'' if count == 1 else 's'})")
    for word, names in (("stub", edition.stubs), ("output hidden", edition.hidden)):
        for name in names:
            print(f"  {word}: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
