"""Write files as a folder, which replaces nothing but a folder that was written this way before; or
as a zip, which is the same for the same files."""

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from helpers.grade.tracked import MARKER

NOTE = "This folder was written by python -m helpers.grade.student, which may replace it."
WHEN = (1980, 1, 1, 0, 0, 0)  # zip's first day: when it was packed says nothing about the files


class FolderError(OSError):
    """The folder was left as it was; the message says why and what to do."""


@dataclass(frozen=True)
class Content:
    """A file to write: its bytes, and whether it can be executed."""

    data: bytes
    executable: bool = False


def write_folder(out: Path, files: Mapping[str, Content], force: bool = False) -> None:
    """Make `out` hold exactly `files` (name with "/" -> content), and the marker.

    The new folder is complete before the old one goes, and a repository in `out` stays one. Raises
    FolderError where `out` is somebody else's, or holds work that would be lost; `force` overrides
    the second, never the first.
    """
    _may_replace(out, force)
    new, old = (out.with_name(f".{out.name}.{word}-{os.getpid()}") for word in ("new", "old"))
    try:
        for name, content in files.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.data)
            path.chmod(0o755 if content.executable else 0o644)
        sums = {name: _digest(content.data) for name, content in sorted(files.items())}
        text = json.dumps({"note": NOTE, "files": sums}, indent=1) + "\n"
        (new / MARKER).write_bytes(text.encode())
        if out.exists():
            out.rename(old)
        new.rename(out)
        if (old / ".git").exists():  # where the folder is published, its history stays
            (old / ".git").rename(out / ".git")
    except OSError as error:
        if old.exists() and not out.exists():
            old.rename(out)
        place = f" ({error.filename})" if error.filename else ""
        raise FolderError(
            f"{out} could not be written and is as it was before: {error.strerror or error}{place}"
            "; close the programs that use it, and check the free space"
        ) from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _may_replace(out: Path, force: bool) -> None:
    """Raise FolderError unless `out` may go."""
    if not out.exists() and not out.is_symlink():
        return
    if out.is_symlink() or not out.is_dir():
        raise FolderError(f"{out} is not a folder: name another with --out")
    if not any(out.iterdir()):
        return
    try:
        sums = json.loads((out / MARKER).read_text(encoding="utf-8"))["files"]
        sums.items()
    except Exception:  # whatever stands there, this program has not written it
        raise FolderError(
            f"{out} was not written by this program (it has no file {MARKER}), so it stays: name "
            "another folder with --out, or remove it yourself"
        ) from None
    if force:
        return
    for name, digest in sums.items():
        path = out / name
        if path.is_file() and _digest(path.read_bytes()) != digest:
            raise FolderError(
                f"{path} has been changed since it was written, and somebody may want to keep "
                "the changes: move the folder away, or add --force"
            )


def zip_of(files: Mapping[str, Content]) -> bytes:
    """A zip of `files`, by name."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, wherever it's packed
            entry.external_attr = (0o100755 if content.executable else 0o100644) << 16
            archive.writestr(entry, content.data)
    return out.getvalue()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
