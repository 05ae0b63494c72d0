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

Only drafts and whole checkpoints are ever removed. A damaged checkpoint in the way of a new one is
renamed, and whatever else lies in the folder is left alone.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from helpers.checkpoint.errors import CheckpointError, NoCheckpoint, explained
from helpers.checkpoint.lock import locked
from helpers.checkpoint.whole import FACTS, name_of, text_of, why_not_whole
from helpers.files import write_whole

NAME = re.compile(r"step-([0-9]+)")
DRAFT = re.compile(r"\.step-[0-9]+(\.\w+)?\.draft")


def steps(folder: str | os.PathLike) -> list[int]:
    """The steps of all whole checkpoints in a folder, in order; none where there is no folder."""
    folder = Path(folder)
    return [step for step in _named(folder) if why_not_whole(folder / name_of(step)) is None]


def latest(folder: str | os.PathLike) -> int | None:
    """The step of the last whole checkpoint, or None. A half-written one does not count."""
    folder = Path(folder)
    named = reversed(_named(folder))
    return next((step for step in named if why_not_whole(folder / name_of(step)) is None), None)


def choose(folder: Path, step: int | None) -> Path:
    """The checkpoint of a step; None: the last whole one.

    Raises NoCheckpoint where there is none at all, and CheckpointError for one that is not whole.
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
        print(f"[checkpoint] {path} is passed over, for it is not whole: {reason}", flush=True)
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
        raise CheckpointError(explained(error, folder)) from error


def _make_way(folder: Path, step: int) -> None:
    """Raise CheckpointError unless this step is the next one; set aside damaged ones after it."""
    last = latest(folder)
    if last is not None and last >= step:
        raise CheckpointError(
            f"{folder} holds the checkpoint of step {last} already, so step {step} belongs to "
            "another run: go on from there with resume(), or choose another folder"
        )
    for later in _named(folder):
        if later >= step:
            path = folder / name_of(later)
            aside = path.with_name(f"{path.name}.damaged-{secrets.token_hex(4)}")
            os.rename(path, aside)
            print(f"[checkpoint] {path} is damaged and in the way: it is now {aside}", flush=True)
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
        raise CheckpointError(explained(error, path)) from error
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
            and path.is_dir()
            and any(file.name == FACTS or file.suffix == ".distcp" for file in path.iterdir())
        ]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointError(explained(error, folder)) from error
    return sorted(found)


def _listed(named: list[int]) -> str:
    return ", ".join(f"step {step}" for step in named)
