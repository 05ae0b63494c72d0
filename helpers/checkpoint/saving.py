"""Write a checkpoint, all of it or nothing, and read it on the same layout or another one."""

import hashlib
import os
import pickle
import secrets
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException

from helpers.checkpoint.training import CheckpointError, Training, place_and_sum
from helpers.files import names_to_disk, write_whole
from helpers.parallel import PlanError
from helpers.parallel.operators import place_in, size_of

SUMS = "SHA256SUMS"
warnings.filterwarnings("ignore", "torch.distributed is disabled, unavailable or uninitialized")
LAST: dict[Path, str] = {}  # of each folder, the sums of what this run has saved or loaded last


class Resumed(NamedTuple):
    """Where a training goes on."""

    step: int = 0  # how many steps are done: the number of the next one, counted from 0
    position: Any = None  # as it was given to `save`
    path: Path | None = None  # what was read; None: nothing, the training begins


def steps(folder: str | os.PathLike) -> list[int]:
    """Return the steps of all checkpoints in a folder, in order."""
    paths = Path(folder).glob(f"step-{'[0-9]' * 8}")
    return sorted(int(path.name[5:]) for path in paths if path.is_dir())


def latest(folder: str | os.PathLike) -> int | None:
    """Return the step of the last checkpoint, or None."""
    return max(steps(folder), default=None)


def save(folder: str | os.PathLike, training: Training, step: int, position: Any = None) -> Path:
    """Save the training after `step` steps; all ranks call it together. Returns the new path.

    The one before stays too; older ones are removed when the new one is whole.

    folder: one for each training, which all ranks see.
    step: how many steps are done; more than at the last save.
    position: where the data goes on, on any layout; the same on all ranks.

    Raises:
        CheckpointError: the same on all ranks: a full disk, a folder that cannot be used or holds
            another run's checkpoints, ranks that disagree. Then no checkpoint has changed.
    """
    folder, rank, size = Path(folder), place_in(None), size_of(None)
    tensors: dict[str, Any] = {}

    def prepare() -> dict:
        weights = training.weights()
        kind = type(training.optimizer).__name__
        facts = {"step": step, "position": position, "optimizer": kind}
        tensors.update(weights | training.state(), facts=pickle.dumps(facts))
        return {("its facts",): str(facts)} | dict(place_and_sum(*item) for item in weights.items())

    def begin() -> Path:
        if (last := latest(folder)) is not None:  # is it one that this run has saved or loaded?
            sums = folder / f"step-{last:08}" / SUMS
            if last >= step or not sums.exists() or sums.read_text() != LAST.get(folder.resolve()):
                raise CheckpointError(
                    f"{folder} holds the checkpoint of step {last} already, so step {step} belongs "
                    "to another run: go on from there with resume(), or choose another folder"
                )
        return folder / f".step-{step:08}.{secrets.token_hex(8)}.draft"

    def write() -> dict[str, str]:
        dcp.save(tensors, storage_writer=dcp.FileSystemWriter(draft), no_dist=size == 1)
        files = [*draft.glob(f"__{rank}_*"), *(draft.glob(".metadata") if rank == 0 else ())]
        return {file.name: _sum(file) for file in files}

    _require_agreement(_together(prepare))
    draft = _together(begin, only_first=True)[0]
    full = f"is the disk full, or does another run save to {folder}?"
    try:
        files = {name: s for each in _together(write, cure=full) for name, s in each.items()}
        return _together(lambda: _finish(draft, folder, step, files), True, full)[0]
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # it has another name if all went well


def load(folder: str | os.PathLike, training: Training, step: int | None = None) -> Resumed:
    """Read a checkpoint into the training, in place; all ranks call it together.

    step: which one; None: the last one. The layout may be another than when it was saved: more
    ranks or fewer, other stages, layers cut or whole. The optimizer gets its state and its settings
    (learning rate and so on) back.

    Raises:
        CheckpointError: the same on all ranks: none there, a file missing or with other bytes than
            were written, another model or optimizer. Then nothing has changed, unless the disk
            failed in the middle of reading.
    """
    folder, alone = Path(folder), size_of(None) == 1
    found = _together(lambda: latest(folder) if step is None else step, only_first=True)[0]
    path = folder / f"step-{found or 0:08}"
    sums = _together(lambda: _checked(path))[0]
    reader = dcp.FileSystemReader(path)
    there = reader.read_metadata().state_dict_metadata
    room: dict[str, torch.Tensor] = {}  # into which it is read
    states: dict = {}  # of the optimizer, by parameter
    groups: list[tuple[dict, dict]] = []  # of the optimizer, with their settings

    def prepare() -> tuple[set[str], dict]:
        trained = {f"group/{training.name(name)}": group for name, _, group in training.trained()}
        found = {key: None for key in ("facts", *trained) if key in there}
        dcp.load(found, storage_reader=dcp.FileSystemReader(path), no_dist=True)
        found = {key: pickle.loads(data) for key, data in found.items()}
        facts, kind = found.pop("facts"), type(training.optimizer).__name__
        if training.optimizer is not None and kind != facts["optimizer"]:
            raise CheckpointError(
                f"{path} was saved with the optimizer {facts['optimizer']} and this one is {kind}: "
                "take the same, or load the weights alone with Training(model)"
            )
        groups.extend((trained[key], values) for key, values in found.items())
        weights = training.weights()
        room.update(weights | training.room(there, states))
        return set(weights), facts

    names, (facts, *_) = zip(*_together(prepare), strict=True)
    for key in there:
        if key.startswith("model/") and key not in set().union(*names):
            raise CheckpointError(f"{path} is of another model: no rank here holds its {key}")
    other = f"{path} is the checkpoint of another model"
    _together(lambda: dcp.load(room, storage_reader=reader, no_dist=alone), cure=other)
    if training.optimizer is not None:
        training.optimizer.state.clear()
        training.optimizer.state.update(states)
    for group, settings in groups:
        group.update(settings)
    LAST[folder.resolve()] = sums
    return Resumed(facts["step"], facts["position"], path)


def resume(folder: str | os.PathLike, training: Training) -> Resumed:
    """Go on from the last checkpoint, or from the beginning where the folder holds none.

    So a script that calls it can be started again after whatever has happened. Raises as `load`
    does: a damaged checkpoint is no reason to begin again in silence.
    """
    there = _together(lambda: latest(folder), only_first=True)[0]
    return Resumed() if there is None else load(folder, training)


# --- what is on the disk -------------------------------------------------------------------------


def _checked(path: Path) -> str:
    """Return all sums of a checkpoint; CheckpointError where a file is not what was written."""
    rank, size, name = place_in(None), size_of(None), SUMS
    try:
        text = (path / SUMS).read_bytes().decode()
        found = [line.split("  ", 1) for line in text.removesuffix("\n").split("\n")]
        if ".metadata" not in [name for _, name in found]:
            raise ValueError
        for wanted, name in found[rank::size]:  # the ranks share the work
            if _sum(path / name) != wanted:
                raise ValueError
    except (FileNotFoundError, ValueError) as error:
        fault = "is not as it was written" if isinstance(error, ValueError) else "is missing here"
        raise CheckpointError(
            f"{path / name} {fault}: copy it again, or remove {path} to go on from an earlier step"
        ) from None
    return text


def _finish(draft: Path, folder: Path, step: int, files: dict[str, str]) -> Path:
    """Give a complete draft its name, and remove all but the last two checkpoints."""
    if files.keys() != {file.name for file in draft.iterdir()}:
        raise CheckpointError(
            f"{draft} does not hold what the ranks have written: choose a folder that all machines "
            "share and no other run uses"
        )
    text = "".join(f"{found}  {name}\n" for name, found in sorted(files.items()))
    write_whole(draft / SUMS, text)
    names_to_disk(draft)
    path = draft.rename(folder / f"step-{step:08}")
    names_to_disk(folder)
    LAST[folder.resolve()] = text
    for old in steps(folder)[:-2]:
        with suppress(OSError):  # what cannot be removed does no harm
            (folder / f"step-{old:08}").rename(draft)  # a draft from now on, and whole until now
            shutil.rmtree(draft)
    for old in folder.glob(".step-*.draft"):  # of runs that were killed, or that come too late
        shutil.rmtree(old, ignore_errors=True)
    return path


def _sum(file: Path) -> str:
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# --- what the ranks say to each other ------------------------------------------------------------


def _together(
    work: Callable[[], Any], only_first: bool = False, cure: str = "choose another folder"
) -> list:
    """Do the work on every rank, or on rank 0 alone, and return all results.

    An error of one rank is raised on all of them: the others would wait for its next message.
    """
    rank, size, mine = place_in(None), size_of(None), None
    try:
        mine = work() if rank == 0 or not only_first else None
    except CheckpointError as error:
        mine = error
    except CheckpointException as error:  # all ranks have the same one
        number, (cause, _) = min(error.failures.items())
        mine = CheckpointError(f"rank {number}: {cause}: {cure}")
    except (OSError, PlanError) as error:
        mine = CheckpointError(f"{error}: {cure}")
    every = [mine] * size
    if size > 1:
        dist.all_gather_object(every, mine)
    failed = [number for number, result in enumerate(every) if isinstance(result, CheckpointError)]
    if failed:
        first = every[failed[0]]
        raise first if len(failed) == size else CheckpointError(f"rank {failed[0]}: {first}")
    return every


def _require_agreement(reports: list[dict]) -> None:
    """CheckpointError unless the ranks save the same step, and replicas have the same values."""
    seen: dict = {}
    for rank, report in enumerate(reports):
        for what, found in report.items():
            first, theirs = seen.setdefault(what, (rank, found))
            if found != theirs:
                raise CheckpointError(
                    f"ranks {first} and {rank} hold different values of {what[0]}: save the same "
                    "step on all ranks, average the gradients of replicas in every step, and give "
                    "different stages Training(name=...), which names them as in the whole model"
                )
