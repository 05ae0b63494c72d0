"""What a lesson depends on: one digest of its source and of every file of this repository it uses.

A source uses the files that it imports, that those import in turn, that it names in a string
(`run_script("../primer/intro.py")`), and that it names in a line `# needs: DP/*, imgs/step.svg`
of a code cell (paths and patterns from the top of the repository). Where it says `check("DP-1")`,
it uses that task's files and the work that they check. A package is taken whole: a module brings
along every file that lies beside it, and the data folders next to it. Only tasks stand alone.
"""

import ast
import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from helpers.grade.task import TaskError, load_task
from lessons.book import CHECK, NEEDS, Book, LessonFailed

MADE = {"__pycache__", "build"}
PATH = re.compile(r"[\w./-]{1,200}")


def digest(book: Book) -> str:
    """SHA-256 over the names and contents of `needed_files`; line ends of Windows do not count."""
    total = hashlib.sha256()
    for path in needed_files(book):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        name = path.relative_to(book.root).as_posix()
        total.update(f"{name} {len(content)}\n".encode() + content)
    return total.hexdigest()


def needed_files(book: Book) -> list[Path]:
    """Every file of the repository that the notebook of `book` is made from, sorted.

    Raises LessonFailed for a `# needs:` that matches no file, and for code that is no Python.
    """
    waiting = [book.source, *_declared(book), *_named(book), *_checked(book)]
    waiting += book.root.glob(f"tasks/truth/lesson_{book.number}.py")
    needed: set[Path] = set()
    rooms: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in needed:
            needed.add(path)
            if path.parent not in rooms:
                rooms.add(path.parent)
                waiting += _room(path.parent, book.root)
            if path.suffix == ".py":
                waiting += _imported(path, book.root)
    return sorted(needed)


def _declared(book: Book) -> Iterator[Path]:
    """The files of the lines `# needs:`; a folder stands for everything in it."""
    for line in NEEDS.findall(book.source.read_text(encoding="utf-8")):
        for pattern in line.replace(",", " ").split():
            found = [file for path in book.root.glob(pattern) for file in _files(path, book.root)]
            if not found:
                raise LessonFailed(f"'# needs: {pattern}' matches no file of the repository")
            yield from found


def _named(book: Book) -> Iterator[Path]:
    """The files of the repository whose path stands in a string of the source."""
    for node in ast.walk(_tree(book.source)):
        if isinstance(node, ast.Constant) and PATH.fullmatch(str(node.value)):
            for folder in (book.folder, book.root):
                path = (folder / str(node.value)).resolve()
                if path.is_file() and path.is_relative_to(book.root):
                    yield from _files(path, book.root)


def _checked(book: Book) -> Iterator[Path]:
    """The files of the tasks that the lesson checks, and those that their solutions stand in."""
    for task_id in re.findall(CHECK.pattern, book.source.read_text(encoding="utf-8")):
        try:
            found = load_task(task_id, book.root / "tasks")
        except TaskError as error:
            raise LessonFailed(f"check({task_id!r}): {error}") from None
        truth = found.path.parent / "truth" / found.path.name
        yield from (found.path, book.root / found.task.file, *([truth] if truth.exists() else []))


def _room(folder: Path, root: Path) -> Iterator[Path]:
    """What belongs to the package that `folder` is: the files in it, data folders next to them."""
    if (folder / "__init__.py").is_file() and not folder.is_relative_to(root / "tasks"):
        for neighbor in folder.iterdir():
            if neighbor.is_file() or not any(neighbor.rglob("*.py")):
                files = _files(neighbor, root)
                yield from (file for file in files if file.suffix != ".md")  # read by people


def _imported(path: Path, root: Path) -> Iterator[Path]:
    """The modules of the repository that the Python file `path` imports, wherever in it."""
    above = [folder for folder in path.parents if folder.is_relative_to(root)]
    for name, level in _imports(path, path.read_text(encoding="utf-8")):
        yield from _module(name, [path.parents[level - 1]] if level else above)


@functools.cache  # most lessons use the same files
def _imports(path: Path, text: str) -> list[tuple[str, int]]:
    """The dotted names that a file with this text imports, each with its leading dots."""
    found = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = (f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names)
            found += [(name, node.level) for name in names]
    return found


def _module(name: str, folders: list[Path]) -> list[Path]:
    """The file that `import name` reads in the first of `folders` that has it, and the
    `__init__.py` of each package above it. A last part that is no module is a name in one."""
    while name:
        parts = name.split(".")
        for folder in folders:
            place = folder.joinpath(*parts)
            file = place.with_suffix(".py")
            if file.is_file() or (place / "__init__.py").is_file():
                inits = [Path(folder, *parts[:n], "__init__.py") for n in range(1, len(parts) + 1)]
                return [path for path in (*inits, file) if path.is_file()]
        name = name.rpartition(".")[0]
    return []


def _files(path: Path, root: Path) -> Iterator[Path]:
    """`path` itself, or every file below the folder `path`; not what is made or hidden."""
    for file in [path] if path.is_file() else path.rglob("*"):
        parts = file.relative_to(root).parts
        if file.is_file() and not any(part in MADE or part.startswith(".") for part in parts):
            yield file


def _tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file; a jupytext source is one, its magics are comments."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except SyntaxError as error:
        raise LessonFailed(f"{path.name}, line {error.lineno}: {error.msg}") from None
