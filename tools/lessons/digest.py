"""What a lesson was executed with: `make notebooks` executes it again when that has changed.

It is its code, its questions (`tasks/answers/`) and its own scripts: the files whose
path stands in its code, those of the tasks that it checks, and each script below a folder that
stands there (`sys.path[:0] = ["../primer"]`), but for folders that only another lesson names.
What `helpers` and `simplellm` have changed is not looked for here: `make test-all` executes all.
"""

import re
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from nbformat import NotebookNode

from helpers.grade.task import TaskError, load_task
from lessons.book import CHECK, Book, code_cells

PATH = re.compile(r"[\w.-]+/[\w./-]*")
SCRIPTS = {".json", ".py", ".sh"}


def digest(book: Book, notebook: NotebookNode) -> str:
    """Return a SHA-256 of what `notebook`, read from the source of `book`, is executed with.

    Line ends of Windows do not count.
    """
    code = "\n# %%\n".join(cell.source for cell in code_cells(notebook))
    total = sha256(code.encode())
    for path in _own_files(book, code):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        name = path.relative_to(book.root.resolve()).as_posix()
        total.update(f"{name} {len(content)}\n".encode() + content)
    return total.hexdigest()


def _own_files(book: Book, code: str) -> list[Path]:
    """Return the questions and the own scripts of the lesson with this code, sorted."""
    root = book.root.resolve()
    mine, named = _folders(code, root), _all_folders(root)
    found = {*root.glob(f"tasks/answers/{book.lesson}.py")}
    for task_id in CHECK.findall(code):
        with suppress(TaskError):  # the rules say so
            found.add(root / load_task(task_id, root / "tasks").task.file)
    for word in PATH.findall(code):
        found |= {(folder / word).resolve() for folder in (root, root / "notebooks")}
    for path in mine:
        others = {folder for folder in named - mine if path in folder.parents}
        files = (file for file in path.rglob("*") if file.suffix in SCRIPTS)
        found |= {file for file in files if others.isdisjoint(file.parents)}
    return sorted(
        path
        for path in found
        if path.is_file() and root in path.parents and "build" not in path.parts
    )


def _folders(code: str, root: Path) -> set[Path]:
    """Return the folders of the repository whose path stands in code."""
    paths = {
        (folder / word).resolve()
        for word in PATH.findall(code)
        for folder in (root, root / "notebooks")
    }
    return {
        path
        for path in paths
        if path.is_dir() and root in path.parents and path != root / "notebooks"
    }


@cache
def _all_folders(root: Path) -> set[Path]:
    """Return those of all lessons, without their text."""
    sources = (root / "notebooks" / "source").glob("*.py")
    lines = [line for path in sources for line in path.read_text("utf-8").splitlines()]
    return _folders("\n".join(line for line in lines if not line.startswith("#")), root)
