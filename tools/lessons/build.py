"""Build one lesson's notebook, and say whether the one that is there still fits its source."""

import time
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from helpers.files import write_whole
from helpers.grade.tracked import MARKER
from lessons.asking import asking_faults
from lessons.book import Book, LessonFailed, read_source, texts
from lessons.digest import digest
from lessons.execute import clean, execute
from lessons.rules import output_faults, source_faults


def build(book: Book) -> NotebookNode:
    """The notebook of `book`, executed and cleaned, with its digest in `metadata.lab.digest`.

    Raises LessonFailed if a cell fails or a rule of `tools/lessons/rules.py` is broken.
    """
    notebook = read_source(book.source)
    _refuse([*source_faults(notebook), *asking_faults(book, notebook)])
    notebook.metadata.lab = {"digest": digest(book)}
    execute(notebook, book.folder)
    clean(notebook)
    _refuse(output_faults(notebook, solved=not is_student_edition(book)))
    nbformat.validate(notebook)
    return notebook


def bring_up_to_date(book: Book, force: bool = False) -> bool:
    """Build and write the notebook of `book` if it is stale or `force`; say what happened.

    A failed build leaves the notebook that was there. Returns False for it.
    """
    if not force and not why_stale(book):
        print(f"{book.name}: up to date")
        return True
    print(f"{book.name}: running …", flush=True)
    start = time.perf_counter()
    try:
        notebook = build(book)
    except LessonFailed as error:
        print(f"{book.name}: not built: {error}")
        return False
    content = nbformat.writes(notebook, indent=1).rstrip("\n") + "\n"
    write_whole(book.notebook, content.encode())
    seconds, kilobytes = time.perf_counter() - start, len(content) / 1000
    print(f"{book.name}: executed in {seconds:.0f} s, {kilobytes:.0f} kB", flush=True)
    return True


def why_stale(book: Book) -> str:
    """One sentence that says why the notebook of `book` must be built again, or nothing."""
    again = f"run: make notebooks (or: python tools/notebooks.py {book.name})"
    if not book.notebook.is_file():
        return f"{book.name}: there is no notebook yet; {again}"
    notebook = nbformat.read(book.notebook, as_version=4)
    try:
        if texts(notebook) != texts(read_source(book.source)):
            return f"{book.name}: its cells differ from notebooks/source/{book.name}.py; {again}"
        now = digest(book)
    except LessonFailed as error:
        return f"{book.name}: {error}"
    # In the student edition the pictures stay as expected, while the code waits to be written.
    if not is_student_edition(book) and notebook.metadata.get("lab", {}).get("digest") != now:
        return f"{book.name}: something it imports or names has changed since it ran; {again}"
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
