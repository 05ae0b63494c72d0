"""The Python of a browser: Pyodide, and the lab's packages that need nothing else.

Pyodide comes from npm's registry as one archive, is kept in build/, and must have the hash below;
nothing is run on the way. A page loads it from the site itself.
"""

import base64
import hashlib
import io
import os
import tarfile
import urllib.request
from pathlib import Path

from helpers.grade.folder import Content, zip_of
from helpers.grade.marks import replace_regions

VERSION = "314.0.7"
ADDRESS = f"https://registry.npmjs.org/pyodide/-/pyodide-{VERSION}.tgz"
SHA512 = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
NEEDED = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
PURE = "trace draw waits cost schedules grid simulate search cluster timeline play".split()
TOP = ("__init__.py", "files.py", "skipped.py", "words.py")


class EngineError(Exception):
    """Pyodide could not be had; the message says why and what to do."""


def pyodide(root: Path) -> dict[str, bytes]:
    """Return {name: bytes} of what a page loads. Raises EngineError."""
    given = os.environ.get("PYODIDE")
    kept = Path(given) if given else root / "build" / f"pyodide-{VERSION}.tgz"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(_fetched())
    data = kept.read_bytes()
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != SHA512:
        raise EngineError(
            f"{kept} isn't Pyodide {VERSION}: its hash differs from the one in "
            "tools/pages/engine.py. Remove it, and run this again"
        )
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {name: archive.extractfile(f"package/{name}").read() for name in NEEDED}


def _fetched() -> bytes:
    try:
        with urllib.request.urlopen(ADDRESS, timeout=120) as answer:
            return answer.read()
    except OSError as error:
        raise EngineError(
            f"Pyodide could not be fetched from {ADDRESS} ({error}). Without a network: fetch it "
            "elsewhere, and name the file in the variable PYODIDE"
        ) from None


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
