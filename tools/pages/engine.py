"""What Python in the browser finds beside Pyodide: the lab's packages that need nothing else."""

from pathlib import Path

from helpers.grade.folder import Content, zip_of
from helpers.grade.marks import replace_regions

PURE = "trace draw waits cost schedules grid simulate search cluster timeline play".split()
TOP = ("__init__.py", "files.py", "lessons.csv", "skipped.py", "syllabus.py", "words.py")


def unsolved(path: Path) -> bytes:
    """Return a file's bytes, without the solutions that a reader of the site shall find."""
    data = path.read_bytes()
    if b"BEGIN SOLUTION" not in data:
        return data
    return replace_regions(data.decode(), lambda region: "...  # your step", path.name).encode()


def archive(root: Path) -> bytes:
    """Return the lab's pure packages and the puzzles as a zip, the same for the same files."""
    paths = [root / "helpers" / name for name in TOP]
    for folder in (*(root / "helpers" / name for name in PURE), root / "puzzles"):
        paths += [
            p for p in folder.rglob("*") if p.suffix in (".py", ".js", ".css", ".html", ".json")
        ]
    files = {path.relative_to(root).as_posix(): Content(unsolved(path)) for path in paths}
    own = Path(__file__).with_name("in_browser.py")
    return zip_of(files | {own.name: Content(own.read_bytes())})
