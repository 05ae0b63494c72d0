"""The folder of all checkpoints of one training: names, what is whole, what is removed.

    checkpoints/
        step-00000010/               whole: it has had this name since it was complete
            checkpoint.json          step, position, settings, every file's size and sum
            __0_0.distcp …           what each rank wrote        .metadata   where each tensor lies
        .step-00000020.TOKEN.draft/  being written, or left by a run that was killed: never read
        .lock                        held by the run that is saving

A folder gets its name by one rename at the very end, and loses it by one rename before it is
removed. So whatever ends a run, a folder with a name is whole. One that somebody copied may not be:
its files are counted before they are believed. Two runs can't write into one draft, because a
draft's name has a random token, which is also in its `checkpoint.json`.

One run at a time saves; reading takes no lock. The lock is the kernel's (flock), so it is free as
soon as the process that held it has ended, however it has ended. The file `.lock` stays and says
who took the lock last. Rank 0 holds it for all ranks of its run.

Only drafts and whole checkpoints are ever removed. A checkpoint that is not whole and in the
way of a new one is renamed, and whatever else lies in the folder is left alone.
"""

import errno
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from helpers.checkpoint.errors import CheckpointError, NoCheckpoint, sentence_of
from helpers.checkpoint.whole import FACTS, name_of, text_of, why_not_whole
from helpers.files import write_whole

LOCK = ".lock"
HELD = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}
# Some network file systems have no locks.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
NAME = re.compile(r"step-([0-9]+)")
DRAFT = re.compile(r"\.step-[0-9]+(\.\w+)?\.draft")


def steps(folder: str | os.PathLike) -> list[int]:
    """Return the steps of all whole checkpoints in a folder, in order."""
    folder = Path(folder)
    return [step for step in _named(folder) if why_not_whole(folder / name_of(step)) is None]


def latest(folder: str | os.PathLike) -> int | None:
    """Return the step of the last whole checkpoint, or None."""
    folder = Path(folder)
    named = reversed(_named(folder))
    return next((step for step in named if why_not_whole(folder / name_of(step)) is None), None)


def choose(folder: Path, step: int | None) -> Path:
    """Return the path of a step's checkpoint, or of the last whole one.

    Raises:
        NoCheckpoint: the folder holds none at all.
        CheckpointError: there is none of this step, or it is not whole.
    """
    named = _named(folder)
    if not named:
        raise NoCheckpoint(
            f"there is no checkpoint in {folder}: save one first, or name another folder"
        )
    if step is not None and step not in named:
        raise CheckpointError(
            f"there is no checkpoint of step {step} in {folder}: it has those of {_listed(named)}"
        )
    wanted = reversed(named) if step is None else [step]
    for number in wanted:
        path = folder / name_of(number)
        reason = why_not_whole(path)
        if reason is None:
            return path
        if step is not None or number == named[0]:
            raise CheckpointError(f"{path} is not a whole checkpoint: {reason}")
        print(f"[checkpoint] {path} is skipped because it is not whole: {reason}", flush=True)
    raise AssertionError("the first of the named ones has been judged")


@contextmanager
def drafted(folder: Path, step: int) -> Iterator[Path]:
    """Hold the folder's lock and an empty draft, which is removed if it did not get its name.

    Raises:
        CheckpointError: the folder cannot be used, another run is saving to it, or it holds this
            step or a later one.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder) as alone:
            _make_way(folder, step)
            for old in folder.iterdir() if alone else ():
                if DRAFT.fullmatch(old.name):  # of a run that was killed: nobody else has the lock
                    shutil.rmtree(old, ignore_errors=True)
            draft = _hidden(folder / name_of(step))
            draft.mkdir()
            try:
                yield draft
            except BaseException:
                shutil.rmtree(draft, ignore_errors=True)
                raise
    except OSError as error:
        raise CheckpointError(sentence_of(error, folder)) from error


def _make_way(folder: Path, step: int) -> None:
    """Raise CheckpointError unless this step comes next; set aside what is not whole after it."""
    last = latest(folder)
    if last is not None and last >= step:
        raise CheckpointError(
            f"{folder} holds the checkpoint of step {last} already, so step {step} belongs to "
            "another run: go on from there with resume(), or choose another folder"
        )
    for later in _named(folder):
        if later >= step:
            path = folder / name_of(later)
            aside = path.with_name(f"{path.name}.set-aside-{secrets.token_hex(4)}")
            os.rename(path, aside)
            print(
                f"[checkpoint] {path} is in the way and cannot be loaded: it is now {aside}",
                flush=True,
            )
    path = folder / name_of(step)
    if os.path.lexists(path):
        raise CheckpointError(f"{path} is in the way and is no checkpoint: move it elsewhere")


def finish(draft: Path, folder: Path, facts: dict, keep: int) -> Path:
    """Give a complete draft its name, and remove all but the last `keep` checkpoints.

    facts: without the token, which is in the draft's name.

    Raises:
        CheckpointError: the draft does not hold what the ranks have written, or the disk failed.
    """
    path = folder / name_of(facts["step"])
    facts = facts | {"token": draft.name.split(".")[-2]}
    try:
        there = {file.name: file.stat().st_size for file in draft.iterdir()}
        if there != {name: size for name, (size, _) in facts["files"].items()}:
            raise CheckpointError(
                f"{draft} does not hold what the ranks have written: choose a folder that all "
                "machines share and no other program changes"
            )
        write_whole(draft / FACTS, text_of(facts))
        _to_disk(draft)
        os.rename(draft, path)
        _to_disk(folder)
    except OSError as error:
        raise CheckpointError(sentence_of(error, path)) from error
    for step in steps(folder)[:-keep]:
        _remove(folder / name_of(step))
    return path


def _remove(path: Path) -> None:
    """Take the name away first: what is killed in the middle of removing is a draft."""
    with suppress(OSError):  # what cannot be removed does no harm
        draft = _hidden(path)
        os.rename(path, draft)
        shutil.rmtree(draft)


def _hidden(path: Path) -> Path:
    """Return a name for a draft of this checkpoint that no other draft has."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.draft")


def _to_disk(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _named(folder: Path) -> list[int]:
    """Return the steps of all folders that have a checkpoint's name and some of its files."""
    try:
        found = [
            int(match[1])
            for path in Path(folder).iterdir()
            if (match := NAME.fullmatch(path.name))
            and path.name == name_of(int(match[1]))
            and _holds_files(path)
        ]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointError(sentence_of(error, folder)) from error
    return sorted(found)


def _holds_files(path: Path) -> bool:
    """Whether this is a folder with at least one of a checkpoint's files."""
    try:
        return any(file.name == FACTS or file.suffix == ".distcp" for file in path.iterdir())
    except (FileNotFoundError, NotADirectoryError):  # removed meanwhile, or a file
        return False


def _listed(named: list[int]) -> str:
    return ", ".join(f"step {step}" for step in named)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Hold the folder's lock; the value is False where its file system has no locks.

    Raises:
        CheckpointError: another run holds it.
    """
    with open(folder / LOCK, "a+b", buffering=0) as file:
        try:
            alone = _take(file.fileno())
        except BlockingIOError:
            file.seek(0)
            holder = file.read(200).decode(errors="replace").strip() or "which has just begun"
            raise CheckpointError(
                f"another run is saving to {folder} ({holder}): end one of the two, or choose "
                "another folder for this one"
            ) from None
        if alone:
            now = datetime.now().astimezone().isoformat(" ", "seconds")
            with suppress(OSError):  # a disk without room for a line has none for a checkpoint
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()}, since {now}".encode())
        try:
            yield alone
        finally:
            _give_back(file.fileno())


def _take(descriptor: int) -> bool:
    """Take the lock; False where there are none, and BlockingIOError where somebody has it."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # nobody can read the byte that is locked
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        if error.errno in HELD:
            raise BlockingIOError from None
        raise
    return True


def _give_back(descriptor: int) -> None:
    """Free the lock now; closing does not if a process forked meanwhile shares the file."""
    with suppress(OSError, ImportError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
