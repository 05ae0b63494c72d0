"""Submissions as they come: folders and zip files, one for each person, in one folder."""

import contextlib
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

MOST_FILES, MOST_BYTES = 2_000, 100_000_000
DEEPEST = 3  # folders around the work, as programs for handing in like to add


class SubmissionError(OSError):
    """A submission cannot be read; the message says which and why."""


def submissions(folder: Path) -> list[Path]:
    """The submissions in a folder, by name: each folder and each zip file is one.

    Raises SubmissionError where there is none.
    """
    if not folder.is_dir():
        raise SubmissionError(f"there is no folder {folder}: name the one that holds submissions")
    found = [
        path
        for path in sorted(folder.iterdir(), key=lambda path: path.name.lower())
        if not path.name.startswith((".", "__")) and (path.is_dir() or path.suffix == ".zip")
    ]
    if not found:
        raise SubmissionError(
            f"{folder} holds no submission: put a folder or a zip file for each person into it"
        )
    return found


@contextlib.contextmanager
def opened(path: Path, files: list[str]) -> Iterator[Path]:
    """The root of a submission: of a folder, itself or a folder in it; of a zip, its content.

    files: what tasks ask for; the folder that has most of them is the root. Raises
    SubmissionError.
    """
    with contextlib.ExitStack() as stack:
        for _ in range(2):  # a folder with one zip file in it is usual too
            if path.is_file():
                name = stack.enter_context(tempfile.TemporaryDirectory(prefix="handed-in-"))
                unzip(path, Path(name))
                path = Path(name)
            root, count = _root(path, files)
            zips = sorted(path.glob("*.zip")) if not count else []
            if len(zips) != 1:
                break
            path = zips[0]
        yield root


def unzip(path: Path, to: Path) -> None:
    """Unpack plain files, and nothing outside of `to`. Raises SubmissionError."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > MOST_FILES or sum(e.file_size for e in entries) > MOST_BYTES:
                raise SubmissionError(
                    f"{path.name} unpacks to more than {MOST_FILES:,} files or "
                    f"{MOST_BYTES / 1e6:.0f} MB: this is no submission"
                )
            for entry in entries:
                parts = entry.filename.replace("\\", "/").split("/")
                kind = stat.S_IFMT(entry.external_attr >> 16)
                if kind not in (0, stat.S_IFREG):
                    continue  # a link, or stranger: not followed
                if ".." in parts or parts[0] in ("", "~") or ":" in parts[0]:
                    raise SubmissionError(
                        f"{path.name} wants to write outside of its folder ({entry.filename!r})"
                    )
                target = to.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source:
                    target.write_bytes(source.read(MOST_BYTES))
    except SubmissionError:
        raise
    except Exception as error:  # zip files break in many ways
        raise SubmissionError(f"{path.name} cannot be unpacked: {error}") from None


def _root(path: Path, files: list[str]) -> tuple[Path, int]:
    """The folder at or below `path` that holds most of `files`, and how many."""
    best, most = path, 0
    for here, folders, _ in os.walk(path):
        depth = len(Path(here).relative_to(path).parts)
        folders[:] = sorted(f for f in folders if not f.startswith(".")) if depth < DEEPEST else []
        count = sum(os.path.lexists(Path(here, name)) for name in files)
        if count > most:
            best, most = Path(here), count
        if most and Path(here) == path:
            break  # it stands where it should
    return best, most
