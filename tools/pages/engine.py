"""What Python in the browser finds beside Pyodide: the lab's packages that need nothing else."""

import zipfile
from io import BytesIO
from pathlib import Path

from helpers.check.marks import replaced

PURE = "trace draw waits cost schedules grid simulate search cluster timeline play".split()
TOP = ("__init__.py", "files.py", "lessons.csv", "syllabus.py", "words.py")


def unsolved(path: Path) -> bytes:
    """Return a file's bytes, without the solutions that a reader of the site shall find."""
    data = path.read_bytes()
    if b"BEGIN SOLUTION" not in data:
        return data
    return replaced(data.decode(), lambda task, body: "...  # your step").encode()


def zip_of(files: dict[str, bytes]) -> bytes:
    """Return a zip, which is the same for the same files."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100755 if name.endswith(".sh") else 0o100644) << 16
            archive.writestr(entry, data)
    return out.getvalue()


def archive(root: Path) -> bytes:
    """Return the lab's pure packages and the puzzles as a zip, the same for the same files."""
    paths = [root / "helpers" / name for name in TOP]
    for folder in (*(root / "helpers" / name for name in PURE), root / "puzzles"):
        paths += [
            p for p in folder.rglob("*") if p.suffix in (".py", ".js", ".css", ".html", ".json")
        ]
    files = {path.relative_to(root).as_posix(): unsolved(path) for path in paths}
    own = Path(__file__).with_name("in_browser.py")
    return zip_of(files | {own.name: own.read_bytes()})
