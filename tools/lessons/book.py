"""One lesson: where its source and its notebook lie, and the source read as a notebook."""

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from helpers.grade.page import card
from helpers.grade.task import TaskError, load_task
from lessons.shown import as_shown

CHECK = re.compile(r'check\("([A-Z0-9-]+)"\)')
SUMMARY = re.compile(r"^## What to remember\n", re.MULTILINE)
GLOSSARY = "(All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)\n"
KEPT = ("jupyter", "tags")  # of what a cell's metadata hold
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class LessonFailed(Exception):
    """A lesson could not be built; the message says in which cell, at which line, and why."""


@dataclass(frozen=True)
class Book:
    """A lesson of the repository `root`: `notebooks/source/{name}.py` and what it becomes."""

    root: Path
    name: str

    @property
    def number(self) -> str:
        """The lesson's number: "06"."""
        return self.name[:2]

    @property
    def lesson(self) -> str:
        """The lesson's name: "micro_batches"."""
        return self.name[3:]

    @property
    def folder(self) -> Path:
        """Where the notebook runs."""
        return self.root / "notebooks"

    @property
    def source(self) -> Path:
        return self.folder / "source" / f"{self.name}.py"

    @property
    def notebook(self) -> Path:
        return self.folder / f"{self.name}.ipynb"


def books(root: Path, names: list[str] | None = None) -> list[Book]:
    """The lessons of `root` in order; with `names`, those whose name starts with one of them.

    Raises SystemExit with one sentence for a name that no lesson has.
    """
    found = [Book(root, path.stem) for path in sorted((root / "notebooks/source").glob("*.py"))]
    for name in names or []:
        if not any(book.name.startswith(name) for book in found):
            known = ", ".join(book.name for book in found) or "none"
            raise SystemExit(f"No lesson starts with {name!r}. There are: {known}.")
    return [book for book in found if not names or book.name.startswith(tuple(names))]


def read_source(path: Path, quick: bool = False) -> NotebookNode:
    """The py:percent file `path` as a notebook without outputs, always the same for the same text.

    Before a cell `check("DP-1")` comes a text cell with what the task's file says: where to write
    it, and hints. Under "What to remember" comes a link to the glossary. A cell's id comes from its
    text, so that a new cell does not change the ids of those after it. Words for the tools are gone
    (`shown`). A cell that only prepares or shows is folded: its source says so, by
    `jupyter={"source_hidden": true}`.

    quick: whether it has the few steps of tests.

    Raises LessonFailed where there is no such task.
    """
    read = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    notebook = nbformat.v4.new_notebook(metadata=METADATA)
    seen: dict[str, int] = {}
    for cell in read.cells:
        text = cell.source
        if cell.cell_type == "markdown":
            text = SUMMARY.sub(lambda heading: f"{heading[0]}\n{GLOSSARY}", text)
        else:
            text = _shown(text, quick, path)
        checks = CHECK.match(text) if cell.cell_type == "code" else None
        pieces = [("markdown", _card(checks[1], path))] if checks else []
        for kind, piece in [*pieces, (cell.cell_type, text)]:
            seen[piece] = seen.get(piece, 0) + 1
            new = getattr(nbformat.v4, f"new_{kind}_cell")(piece)
            new.id = sha256(f"{kind}{seen[piece]}{piece}".encode()).hexdigest()[:8]
            notebook.cells.append(new)
        for name in KEPT:
            if cell.metadata.get(name):
                new.metadata[name] = cell.metadata[name]
    return notebook


def _shown(code: str, quick: bool, source: Path) -> str:
    try:
        return as_shown(code, quick)
    except ValueError as error:
        raise LessonFailed(f"{source.name}: {error}") from None


def _card(task_id: str, source: Path) -> str:
    """The facts of a task of the repository that holds notebooks/source/NN_name.py."""
    try:
        return card(load_task(task_id, source.parents[2] / "tasks").task)
    except TaskError as error:
        raise LessonFailed(f"check({task_id!r}): {error}") from None


def texts(notebook: NotebookNode) -> list[tuple[str, str, dict]]:
    """The kind, text and metadata of each cell: what source and notebook must have in common."""
    return [(cell.cell_type, cell.source, dict(cell.metadata)) for cell in notebook.cells]


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]
