"""The folder of all checkpoints of one training: names, what is whole, what is removed.

    checkpoints/
        step-00000010/          whole: it has had this name since it was complete
            checkpoint.json     step, position, the optimizer's settings, every file's size and sum
            __0_0.distcp …      what each rank wrote        .metadata      where each tensor lies
        .step-00000020.draft/   being written, or left behind by a run that was killed: never read

A folder gets its name by one rename at the very end, and loses it by one rename before it is
removed. So whatever ends a run, a folder with a name is whole. One that somebody copied may not be:
its files are counted before they are believed.
"""

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from helpers.checkpoint.errors import CheckpointError, NoCheckpoint, explained
from helpers.checkpoint.whole import FACTS, why_not_whole
from helpers.files import write_whole

NAME = re.compile(r"step-(\d+)")
DRAFT = re.compile(r"\.step-\d+\.draft")


def steps(folder: str | os.PathLike) -> list[int]:
    """The steps of all whole checkpoints in a folder, in order; none where there is no folder."""
    folder = Path(folder)
    return [step for step in _named(folder) if why_not_whole(_path(folder, step)) is None]


def latest(folder: str | os.PathLike) -> int | None:
    """The step of the last whole checkpoint, or None. A half-written one does not count."""
    return next((step for step in reversed(steps(folder))), None)


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
        path = _path(folder, number)
        reason = why_not_whole(path)
        if reason is None:
            return path
        if step is not None or number == named[0]:
            raise CheckpointError(f"{path} is not a whole checkpoint: {reason}")
        print(f"[checkpoint] {path} is passed over, for it is not whole: {reason}", flush=True)
    raise AssertionError("the first of the named ones has been judged")


def begin(folder: Path, step: int) -> Path:
    """An empty draft for this step. Drafts of runs that were killed are removed.

    Raises CheckpointError where the folder cannot be used, or holds this step or a later one.
    """
    last = latest(folder)
    if last is not None and last >= step:
        raise CheckpointError(
            f"{folder} holds the checkpoint of step {last} already, so step {step} belongs to "
            "another run: go on from there with resume(), or choose another folder"
        )
    draft = folder / f".{_path(folder, step).name}.draft"
    try:
        for later in _named(folder):
            if later >= step:  # not whole, or it would have been the last
                _remove(_path(folder, later))
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if DRAFT.fullmatch(old.name):
                shutil.rmtree(old)
        draft.mkdir()
    except OSError as error:
        raise CheckpointError(explained(error, folder)) from error
    return draft


def finish(draft: Path, folder: Path, facts: dict, keep: int) -> Path:
    """Give a complete draft its name, and remove all but the last `keep` checkpoints."""
    facts["files"] = {file.name: file.stat().st_size for file in sorted(draft.iterdir())}
    path = _path(folder, facts["step"])
    try:
        write_whole(draft / FACTS, json.dumps(facts, indent=1))
        _to_disk(draft)
        os.rename(draft, path)
        _to_disk(folder)
    except OSError as error:
        raise CheckpointError(explained(error, path)) from error
    for step in _named(folder)[:-keep]:
        _remove(_path(folder, step))
    return path


def _remove(path: Path) -> None:
    """Take the name away first: what is killed in the middle of removing is a draft."""
    with suppress(OSError):  # what cannot be removed does no harm
        draft = path.with_name(f".{path.name}.draft")
        os.rename(path, draft)
        shutil.rmtree(draft)


def _to_disk(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _named(folder: Path) -> list[int]:
    """The steps of all folders that have a checkpoint's name."""
    try:
        found = [NAME.fullmatch(path.name) for path in Path(folder).iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointError(explained(error, folder)) from error
    return sorted(int(match[1]) for match in found if match)


def _path(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def _listed(named: list[int]) -> str:
    return ", ".join(f"step {step}" for step in named)
