"""Build one lesson's notebook, and say whether the one that is there still fits its source."""

import time
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from helpers.files import write_whole
from helpers.grade.tracked import MARKER
from lessons.asking import asking_faults
from lessons.book import Book, LessonFailed, code_cells, read_source, texts
from lessons.digest import digest
from lessons.execute import clean, execute
from lessons.rules import output_faults, source_faults


def build(book: Book) -> NotebookNode:
    """Return the notebook of `book`, executed and cleaned.

    Raises LessonFailed if a cell fails or a rule of `tools/lessons/rules.py` is broken.
    """
    return _executed(book, _draft(book))


def bring_up_to_date(book: Book, force: bool = False) -> bool:
    """Write the notebook of `book` if it is stale or `force`; say what happened.

    Where its code, questions and own scripts are still those it was executed with, it keeps its
    outputs. A failed build leaves the notebook that was there. Returns False for it.
    """
    if not force and not why_stale(book):
        print(f"{book.name}: up to date")
        return True
    start = time.perf_counter()
    try:
        notebook = _draft(book)
        if force or not _keep_outputs(notebook, book.notebook):
            print(f"{book.name}: running …", flush=True)
            notebook = _executed(book, notebook)
    except LessonFailed as error:
        print(f"{book.name}: not built: {error}")
        return False
    content = _write(book, notebook)
    seconds, kilobytes = time.perf_counter() - start, len(content) / 1000
    print(f"{book.name}: written after {seconds:.0f} s, {kilobytes:.0f} kB", flush=True)
    return True


def fault_of(book: Book) -> str:
    """Return what's wrong with a lesson's source, before anything runs; "" for nothing."""
    try:
        _draft(book)
    except LessonFailed as error:
        return f"{book.name}: not built: {error}"
    return ""


def write_text(book: Book) -> bool:
    """Write the text of `book` into its notebook and keep the outputs, which a build refreshes.

    The notebook keeps the digest of what it was executed with, and so stays to be built. Returns
    False where it has other cells than the source.
    """
    try:
        notebook = _draft(book)
    except LessonFailed as error:
        print(f"{book.name}: not written: {error}")
        return False
    old = nbformat.read(book.notebook, as_version=4) if book.notebook.is_file() else notebook
    here, there = code_cells(notebook), code_cells(old)
    if len(here) != len(there):
        print(f"{book.name}: {len(there)} code cells have become {len(here)}: build it")
        return False
    notebook.metadata = old.metadata
    _take_outputs(here, there)
    _write(book, notebook)
    print(f"{book.name}: text written")
    return True


def _take_outputs(here: list[NotebookNode], there: list[NotebookNode]) -> None:
    for cell, was in zip(here, there, strict=True):
        cell.outputs, cell.execution_count = was.outputs, was.execution_count


def _write(book: Book, notebook: NotebookNode) -> str:
    content = nbformat.writes(notebook, indent=1).rstrip("\n") + "\n"
    write_whole(book.notebook, content.encode())
    return content


def _draft(book: Book) -> NotebookNode:
    """Return the notebook without outputs, with its digest in `metadata.lab.digest`."""
    notebook = read_source(book.source)
    _refuse([*source_faults(notebook), *asking_faults(book, notebook)])
    notebook.metadata.lab = {"digest": digest(book, notebook)}
    return notebook


def _executed(book: Book, notebook: NotebookNode) -> NotebookNode:
    execute(notebook, book.folder)
    clean(notebook)
    _refuse(output_faults(notebook, solved=not is_student_edition(book)))
    nbformat.validate(notebook)
    return notebook


def _keep_outputs(notebook: NotebookNode, path: Path) -> bool:
    """Give `notebook` the outputs of the one at `path` if both have one digest."""
    if not path.is_file():
        return False
    old = nbformat.read(path, as_version=4)
    if old.metadata.get("lab") != notebook.metadata.lab:
        return False
    notebook.metadata = old.metadata
    _take_outputs(code_cells(notebook), code_cells(old))
    return True


def why_stale(book: Book) -> str:
    """One sentence that says why the notebook of `book` must be built again, or nothing."""
    again = f"run: make notebooks (or: python tools/notebooks.py {book.name})"
    if not book.notebook.is_file():
        return f"{book.name}: there is no notebook yet; {again}"
    committed = nbformat.read(book.notebook, as_version=4)
    try:
        notebook = read_source(book.source)
    except LessonFailed as error:
        return f"{book.name}: {error}"
    if texts(committed) != texts(notebook):
        return f"{book.name}: its cells differ from notebooks/source/{book.name}.py; {again}"
    # In the student edition the pictures stay as expected, while the code waits to be written.
    ran_with = committed.metadata.get("lab", {}).get("digest")
    if not is_student_edition(book) and ran_with != digest(book, notebook):
        return f"{book.name}: its scripts or questions have changed since it ran; {again}"
    return ""


def stale(root: Path, chosen: list[Book]) -> list[str]:
    """One sentence per stale notebook among `chosen`, and per notebook of `root` with no source."""
    sources = {path.stem for path in (root / "notebooks/source").glob("*.py")}
    built = {path.stem for path in (root / "notebooks").glob("*.ipynb")}
    sentences = [why for book in chosen if (why := why_stale(book))]
    return sentences + [f"{name}: it has no source; remove it" for name in sorted(built - sources)]


def is_student_edition(book: Book) -> bool:
    return (book.root / MARKER).exists()


def _refuse(faults: list[str]) -> None:
    if faults:
        raise LessonFailed("; ".join(faults))
