"""Submissions as they come: folders and zip files, one for each person, in one folder."""

import contextlib
import os
import shutil
import stat
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

MOST_FILES, MOST_BYTES = 2_000, 100_000_000
DEEPEST = 3  # folders around the work, as programs for handing in like to add


class SubmissionError(OSError):
    """A submission cannot be read; the message says which and why."""


def submissions(folder: Path) -> list[Path]:
    """What lies in a folder, by name: each folder and each zip file is a submission.

    Other entries come too, so that nobody is forgotten; `refused` says why they aren't graded.
    Names that begin with "." or "__" are left to the system that made them. Raises SubmissionError
    where there is no submission.
    """
    if not folder.is_dir():
        raise SubmissionError(f"there is no folder {folder}: name the one that holds submissions")
    found = [
        path
        for path in sorted(folder.iterdir(), key=lambda path: path.name.lower())
        if not path.name.startswith((".", "__"))
    ]
    if all(map(refused, found)):
        raise SubmissionError(
            f"{folder} holds no submission: put a folder or a zip file for each person into it"
        )
    return found


def refused(path: Path) -> str:
    """Why an entry of a folder of submissions is not graded, or an empty string."""
    if path.is_symlink():
        return f"not graded: {path.name} is a link, and links are not followed"
    if not path.is_dir() and not _is_zip(path):
        return f"not graded: {path.name} is not a folder or a .zip"
    return ""


def is_empty(path: Path) -> bool:
    """Whether a submission is a folder without a file in it, as a gradebook makes for everybody."""
    return path.is_dir() and all(file.is_dir() for file in islice(path.rglob("*"), MOST_FILES))


def names(paths: Iterable[Path]) -> list[str]:
    """A name for each: without ".zip", but where two would be the same ("ada", "ada.zip")."""
    paths = list(paths)
    short = [path.stem if _is_zip(path) else path.name for path in paths]
    often = Counter(name.lower() for name in short)
    return [
        path.name if often[name.lower()] > 1 else name
        for path, name in zip(paths, short, strict=True)
    ]


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip" and path.is_file()


@contextlib.contextmanager
def opened(path: Path, files: list[str]) -> Iterator[Path]:
    """The root of a submission: of a folder, itself or a folder in it; of a zip, its content.

    files: what tasks ask for; the folder that has most of them is the root. Where there is none,
    files that lie at the top alone are put where they belong, if their names say where. Raises
    SubmissionError.
    """
    with contextlib.ExitStack() as stack:
        for _ in range(2):  # a folder with one zip file in it is usual too
            if path.is_file():
                name = stack.enter_context(tempfile.TemporaryDirectory(prefix="handed-in-"))
                unzip(path, Path(name))
                path = Path(name)
            root, count = _root(path, files)
            zips = sorted(filter(_is_zip, path.iterdir())) if not count else []
            if len(zips) != 1:
                break
            path = zips[0]
            if path.is_symlink():  # to somebody else's work, perhaps
                raise SubmissionError(f"{path.name} is a link, and links are not followed")
        if not count and (bare := _bare(path, files)):
            root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="handed-in-")))
            for name, file in bare.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, root / name)
        yield root


def _bare(folder: Path, files: list[str]) -> dict[str, Path]:
    """{name in the lab: file} of those that lie at the top: some upload the file and no more."""
    often = Counter(name.rpartition("/")[2] for name in set(files))
    places = {name: folder / name.rpartition("/")[2] for name in files}
    return {
        name: path
        for name, path in places.items()
        if often[path.name] == 1 and not path.is_symlink() and path.is_file()
        if path.stat().st_size <= MOST_BYTES
    }


def unzip(path: Path, to: Path) -> None:
    """Unpack plain files, and nothing outside of `to`. Raises SubmissionError."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise SubmissionError(
                f"{path.name} has more than {MOST_BYTES / 1e6:.0f} MB: is this the right file?"
            )
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > MOST_FILES or sum(e.file_size for e in entries) > MOST_BYTES:
                raise SubmissionError(
                    f"{path.name} unpacks to more than {MOST_FILES:,} files or "
                    f"{MOST_BYTES / 1e6:.0f} MB: is this the right file?"
                )
            for entry in entries:
                parts = entry.filename.replace("\\", "/").split("/")
                kind = stat.S_IFMT(entry.external_attr >> 16)
                if kind not in (0, stat.S_IFREG):
                    continue  # a link, or stranger: not followed
                if ":" in entry.filename:  # Windows would leave the folder for it
                    raise SubmissionError(
                        f"{path.name} holds a name with ':' ({entry.filename!r}): rename that file"
                    )
                target = to.joinpath(*parts)
                leaves = ".." in parts or parts[0] in ("", "~")
                if leaves or not target.resolve().is_relative_to(to.resolve()):
                    raise SubmissionError(
                        f"{path.name} wants to write outside of its folder ({entry.filename!r})"
                    )
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
