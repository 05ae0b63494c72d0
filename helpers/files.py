"""Write a file whole or not at all.

Half a trace or half a checkpoint is worse than none. So the bytes go to a temporary file in the
same folder first, which takes the real name in one step (``os.replace``) when it's on the disk.
"""

import contextlib
import errno
import os
import stat
from pathlib import Path

# What to tell a person, the cause and the cure; and for which errors of the system.
_SENTENCES = {
    "the disk is full; free some space or choose another folder": ("ENOSPC", "EDQUOT", "EFBIG"),
    "it is a folder; add a file name to the path": ("EISDIR",),
    "a part of the path is a file, not a folder; choose another folder": ("ENOTDIR", "EEXIST"),
    "the disk can only be read; choose another folder": ("EROFS",),
    "the permission is missing, or another program holds the file open; close that program or "
    "choose a folder that is yours": ("EACCES", "EPERM"),
    "the name is too long; choose a shorter one": ("ENAMETOOLONG",),
}


def as_path(path: str | os.PathLike) -> Path:
    """Return the path as a `Path`. Raises TypeError or ValueError, in a sentence, for no path."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"a path is text or a pathlib.Path, not {path!r:.60}") from None
    if "\0" in text:
        raise ValueError(f"the path {text[:60]!r} holds a zero byte, which no file name can have")
    return Path(text)


def read_whole(path: str | os.PathLike) -> bytes:
    """Return the bytes of a file. Raises OSError, and ValueError for a device: it may never end."""
    path = as_path(path)
    if path.exists() and not path.is_file() and not path.is_dir() and path != Path(os.devnull):
        raise ValueError(f"{path} is a device or a pipe: give the path of a file")
    return path.read_bytes()


def write_whole(path: str | os.PathLike, data: bytes | str) -> Path:
    """Write `data` to `path`, whole or not at all, and return the path.

    Text is written as UTF-8, line ends as they are. Missing parent folders are made. A device such
    as ``/dev/stdout`` is written to directly.

    Raises ``OSError`` (or the subclass that fits) with a sentence that names the path and the cure.
    """
    path = as_path(path)
    try:
        _write(path, data.encode("utf-8") if isinstance(data, str) else data)
    except OSError as error:
        said = f"the system says '{error.strerror or type(error).__name__}'; choose another name"
        name = errno.errorcode.get(error.errno)
        said = next((text for text, names in _SENTENCES.items() if name in names), said)
        explained = type(error)(f"cannot write {path}: {said}")
        explained.errno = error.errno
        raise explained from error
    return path


def _write(path: Path, data: bytes) -> None:
    target = Path(os.path.realpath(path))  # a link stays a link: its target is replaced
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        target.write_bytes(data)  # replacing /dev/null by a file would be a disaster
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # some systems report a full disk only here
        os.replace(temporary, target)
    except BaseException:  # Ctrl-C too must leave nothing behind
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def names_to_disk(folder: str | os.PathLike) -> None:
    """Wait until the names in a folder are on the disk; on Windows, which can't, do nothing."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
