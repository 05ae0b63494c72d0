"""`python -m helpers.grade.student [--out FOLDER] [--no-reference]`: write the student edition.

It is the whole repository with each solution replaced by a stub that names its task. The lessons
have no saved outputs, which would answer their questions. What would give solutions away, and what
only a teacher needs, is left out. What checks compare with is packed, and so are the references
that `skip` puts in the place of a task. The same repository gives the same edition, to
the byte.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from helpers.clone import need_clone
from helpers.grade.folder import Content, FolderError, write_folder, zip_of
from helpers.grade.leaks import functions_of, leaked, pieces_of
from helpers.grade.marks import MarkError, Region, find_regions, replace_regions
from helpers.grade.shown import shown_part
from helpers.grade.task import ANSWERS, PACKED, ROOT, SOLUTIONS, load_task, task_ids
from helpers.grade.tracked import MARKER, tracked_files
from helpers.grade.words import why_not
from helpers.grade.written import solved_functions
from helpers.skipped import INSIDE, marked_with_tasks
from helpers.skipped import PACKED as REFERENCES
from helpers.words import many

# What only makes sense with the solutions beside it, or is for teachers.
LEFT_OUT = (".ci/", "tests/tasks/", "tests/grade/", "TEACHING.md", "docs/exercises.md")
LEFT_OUT += ("tests/frozen/", "docs/teaching/", ".github/")
README = "README.md"
# What stands elsewhere here and takes its place in the edition.
MOVED = {"README.student.md": README, "tools/classroom.yml": ".github/workflows/tasks.yml"}
# Goes into an archive: checks need it, and nobody is to read it by accident.
HIDDEN = f"tasks/{ANSWERS}/"


class LeakError(ValueError):
    """A solution stands outside of its marks; the message says whose and where."""


@dataclass
class Edition:
    """The files of the student edition, and what was done to make them."""

    files: dict[str, Content] = field(default_factory=dict)
    stubs: list[str] = field(default_factory=list)  # "DP-1 in DP/gradient_aggr/intro_DP_GA.py"
    left_out: list[str] = field(default_factory=list)
    source: str = "git"  # who said which files belong to it


def student_edition(root: Path = ROOT, with_references: bool = True) -> Edition:
    """The student edition of the repository at `root`, in memory.

    with_references: whether a student can skip a task.

    Raises MarkError for wrong marks, LeakError where a solution would stay, TaskError for a
    wrong task file.
    """
    need_clone(root)
    names, source = tracked_files(root)
    edition = Edition(source=source)
    edition.left_out = [name for name in names if name.startswith(LEFT_OUT)]
    names = [name for name in names if not name.startswith(LEFT_OUT)]
    answers = [name for name in names if name.startswith(HIDDEN)]
    names = [name for name in names if name not in answers]
    ids = task_ids(root / "tasks")
    stubs = {task_id: load_task(task_id, root / "tasks").task.stub() for task_id in ids}

    data = {name: (root / name).read_bytes() for name in names}
    packed = {name.removeprefix("tasks/"): Content((root / name).read_bytes()) for name in answers}
    hidden = [function for name in answers for function in functions_of(root / name)]
    for name in map("tasks/{}.py".format, (i.lower().replace("-", "_") for i in ids)):
        if name not in data:
            raise MarkError(f"{name} isn't tracked, so students wouldn't get it: git add {name}")
        shown = shown_part(data[name].decode())
        if shown.encode() != data[name]:
            packed[Path(name).name] = Content(data[name])
            data[name] = shown.encode()
            hidden += [each for each in functions_of(root / name) if each.body not in shown]
    regions = {name: _regions(name, content, ids) for name, content in data.items()}
    pieces = pieces_of(region for found in regions.values() for region in found)
    pieces += [piece for each in hidden for piece in pieces_of([each])]
    for name, content in data.items():
        if regions[name]:
            solved = solved_functions(content.decode(), regions[name], name)
            functions = {function: task for task, found in solved.items() for function in found}
            text = replace_regions(content.decode(), lambda r: stubs[r.task], name)
            content = marked_with_tasks(text, functions).encode()
            tasks = dict.fromkeys(region.task for region in regions[name])
            edition.stubs += [f"{task} in {name}" for task in tasks]
        if name.endswith(".ipynb"):
            content = _without_outputs(name, content)
        if task := leaked(content.decode(errors="replace"), pieces):
            raise LeakError(
                f"{name}: lines of the solution of {task} stand here outside of the marks, and "
                "would reach every student: put marks around them, or say it in other words"
            )
        executable = bool((root / name).stat().st_mode & 0o100)
        edition.files[name] = Content(content, executable)
    for name in MOVED.keys() & edition.files.keys():
        edition.files[MOVED[name]] = edition.files.pop(name)
    found = {name: data[name].decode() for name, marked in regions.items() if marked}
    if packed:
        packed[SOLUTIONS] = scripts_of(data, found)
        # From a zip with modules Python imports as from a folder.
        edition.files[f"tasks/{PACKED}"] = Content(zip_of(packed))
    if with_references:
        text = json.dumps(_references(found, regions), indent=1, sort_keys=True)
        edition.files[REFERENCES] = Content(zip_of({INSIDE: Content(text.encode())}))
    return edition


def scripts_of(data: dict[str, bytes], marked: Iterable[str]) -> Content:
    """Pack all scripts of the labs that hold these files, with their solutions: {name: text}."""
    labs = tuple({f"{name.split('/')[0]}/" for name in marked})
    names = [name for name in data if name.startswith(labs) and name.endswith((".py", ".json"))]
    return Content(json.dumps({n: data[n].decode() for n in names}, sort_keys=True).encode())


def _references(texts: dict[str, str], regions: dict[str, list[Region]]) -> dict:
    """{task: {file: {function: its source}}}: of each solution the function or class around it."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name, text in texts.items():
        for task, functions in solved_functions(text, regions[name], name).items():
            found.setdefault(task, {})[name] = functions
    return found


def _regions(name: str, content: bytes, ids: list[str]) -> list[Region]:
    """The solutions in one file."""
    # Most files have none; and a file that holds no such word need not be well-formed.
    if not name.endswith(".py") or b"solution" not in content.lower():
        return []
    return find_regions(content.decode(), name, ids)


def _without_outputs(name: str, content: bytes) -> bytes:
    """A notebook as it is before anybody has run it.

    Raises MarkError for what isn't a notebook, and for one that holds a solution.
    """
    try:
        notebook = json.loads(content)
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    except (json.JSONDecodeError, KeyError, TypeError):
        raise MarkError(f"{name}: this is not a Jupyter notebook: build it again") from None
    for cell in cells:
        if find_regions("".join(cell.get("source", "")), name):
            raise MarkError(f"{name}: a solution stands in a cell, and belongs in a script")
        cell.update(outputs=[], execution_count=None)
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """0 if it was written, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.student", description="Write the student edition."
    )
    parser.add_argument(
        "--out", type=Path, help="the folder to write (default: build/student); replaces an old one"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace it even if somebody has worked in it"
    )
    parser.add_argument("--no-reference", action="store_true", help="leave out what skip() needs")
    options = parser.parse_args(arguments)
    out = (options.out or root / "build" / "student").absolute()
    if (root / MARKER).exists():
        print("this is the student edition already: there is nothing to write")
        return 0
    try:
        if root.resolve().is_relative_to(out.resolve()):
            raise FolderError(f"{out} contains the repository itself: name another with --out")
        edition = student_edition(root, not options.no_reference)
        write_folder(out, edition.files, options.force)
    except (ValueError, OSError) as error:  # what the lab raises, and what the system does
        print(f"no student edition: {why_not(error)}", file=sys.stderr)
        return 1
    print(f"student edition: {len(edition.files)} files in {out}")
    if edition.source != "git":
        print(f"  all files were taken, because {edition.source}")
    for folder in LEFT_OUT:
        if count := sum(name.startswith(folder) for name in edition.left_out):
            print(f"  left out: {folder} ({many(count, 'file')})")
    for name in edition.stubs:
        print(f"  stub: {name}")
    print(f"Next: move it to where you work, and read {out / README}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
