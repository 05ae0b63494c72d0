"""Write a checkpoint, all of it or nothing, and read it on the same layout or another one."""

import hashlib
import os
import pickle
import re
import secrets
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException

from helpers.checkpoint.training import CheckpointError, Training, place_and_sum
from helpers.files import write_whole
from helpers.parallel import PlanError

SUMS = "SHA256SUMS"
warnings.filterwarnings("ignore", "torch.distributed is disabled, unavailable or uninitialized")
CURE = "copy it again, or remove it to go on from an earlier step"
LAST: dict[Path, str] = {}  # of each folder, the sums of what this run has saved or loaded last


class NoCheckpoint(CheckpointError):
    """The folder holds no checkpoint."""


@dataclass(frozen=True)
class Resumed:
    """Where a training goes on.

    step: how many steps are done: the number of the next one, counted from 0.
    position: as it was given to `save`; None at the beginning.
    path: what was read; None: nothing, the training begins.
    """

    step: int = 0
    position: Any = None
    path: Path | None = None


def steps(folder: str | os.PathLike) -> list[int]:
    """Return the steps of all checkpoints in a folder, in order."""
    names = [path.name for path in Path(folder).glob("step-*") if path.is_dir()]
    return sorted(int(name[5:]) for name in names if re.fullmatch(r"step-\d{8}", name))


def latest(folder: str | os.PathLike) -> int | None:
    """Return the step of the last checkpoint, or None."""
    return max(steps(folder), default=None)


def save(
    folder: str | os.PathLike, training: Training, step: int, position: Any = None, keep: int = 2
) -> Path:
    """Save the training after `step` steps; all ranks call it together. Returns the new path.

    folder: one for each training, which all ranks see.
    step: how many steps are done; more than at the last save.
    position: where the data goes on, on any layout; the same on all ranks.
    keep: how many checkpoints stay; older ones are removed when the new one is whole.

    Raises:
        CheckpointError: the same on all ranks: a full disk, a folder that cannot be used or holds
            another run's checkpoints, ranks that disagree. Then no checkpoint has changed.
    """
    folder, (rank, size) = Path(folder), _here()
    tensors: dict[str, Any] = {}

    def prepare() -> tuple[str, dict]:
        if type(step) is not int or type(keep) is not int or step < 0 or keep < 1:
            raise CheckpointError(f"step and keep are whole numbers, not {step!r} and {keep!r}")
        weights = training.weights()
        kind = type(training.optimizer).__name__
        facts = {"step": step, "position": position, "optimizer": kind}
        tensors.update(weights | training.state(), facts=pickle.dumps(facts))
        return str(facts), {key: place_and_sum(tensor) for key, tensor in weights.items()}

    def write() -> dict[str, str]:
        dcp.save(tensors, storage_writer=dcp.FileSystemWriter(draft), no_dist=size == 1)
        files = [*draft.glob(f"__{rank}_*"), *(draft.glob(".metadata") if rank == 0 else ())]
        return {file.name: _sum(file) for file in files}

    _require_agreement(_together(prepare))
    draft = _together(lambda: _begin(folder, step), only_first=True)[0]
    full = f"is the disk full, or does another run save to {folder}?"
    try:
        files = {
            name: found for each in _together(write, cure=full) for name, found in each.items()
        }
        return _together(lambda: _finish(draft, folder, step, files, keep), True, full)[0]
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # it has another name if all went well


def load(folder: str | os.PathLike, training: Training, step: int | None = None) -> Resumed:
    """Read a checkpoint into the training, in place; all ranks call it together.

    step: which one; None: the last one. The layout may be another than when it was saved: more
    ranks or fewer, other stages, layers cut or whole. The optimizer gets its state and its settings
    (learning rate and so on) back.

    Raises:
        NoCheckpoint, CheckpointError: the same on all ranks: none there, a file missing or with
            other bytes than were written, another model or optimizer. Then nothing has changed,
            unless the disk failed in the middle of reading.
    """
    folder, no_dist = Path(folder), _here()[1] == 1
    path = _together(lambda: _choose(folder, step), only_first=True)[0]
    seen = _together(lambda: _checked(path))
    if any(each != seen[0] for each in seen):
        raise CheckpointError(f"the ranks see different folders at {path}: they must share one")
    there = dcp.FileSystemReader(path).read_metadata().state_dict_metadata
    room: dict[str, Any] = {}
    states: dict = {}
    groups: list[tuple[dict, dict]] = []

    def prepare() -> tuple[set[str], dict]:
        trained = {f"group/{training.name(name)}": group for name, _, group in training.trained()}
        found = {key: None for key in ("facts", *trained) if key in there}
        dcp.load(found, storage_reader=dcp.FileSystemReader(path), no_dist=True)
        found = {key: pickle.loads(data) for key, data in found.items()}
        facts = found.pop("facts")
        kind = type(training.optimizer).__name__
        if training.optimizer is not None and kind != facts["optimizer"]:
            raise CheckpointError(
                f"{path} was saved with the optimizer {facts['optimizer']} and this one is {kind}: "
                "take the same, or load the weights alone with Training(model)"
            )
        groups.extend((trained[key], settings) for key, settings in found.items())
        if any(mine is other and a != b for mine, a in groups for other, b in groups):
            raise CheckpointError(
                "the parameters of one group of this optimizer were in different groups when they "
                "were saved: make the optimizer with those groups"
            )
        weights = training.weights()
        tensors, found = training.room(there)
        room.update(weights | tensors)
        states.update(found)
        return set(weights), facts

    reports = _together(prepare)
    extra = [key for key in there if key.startswith("model/")]
    extra = [key for key in extra if not any(key in names for names, _ in reports)]
    if extra:
        raise CheckpointError(f"{path} is of another model: no rank here holds its {extra[0]}")
    reader = dcp.FileSystemReader(path)
    other = f"{path} is the checkpoint of another model"
    _together(lambda: dcp.load(room, storage_reader=reader, no_dist=no_dist), cure=other)
    if training.optimizer is not None:
        training.optimizer.state.clear()
        training.optimizer.state.update(states)
    for group, settings in groups:
        group.update(settings)
    LAST[folder.resolve()] = seen[0]
    return Resumed(reports[0][1]["step"], reports[0][1]["position"], path)


def resume(folder: str | os.PathLike, training: Training) -> Resumed:
    """Go on from the last checkpoint, or from the beginning where the folder holds none.

    So a script that calls it can be started again after whatever has happened. Raises as `load`
    does: a damaged checkpoint is no reason to begin again in silence.
    """
    try:
        return load(folder, training)
    except NoCheckpoint:
        return Resumed()


# --- what is on the disk -------------------------------------------------------------------------


def _choose(folder: Path, step: int | None) -> Path:
    there = steps(folder)
    if not there:
        raise NoCheckpoint(f"there is no checkpoint in {folder}: save one, or name another folder")
    if step is not None and step not in there:
        raise CheckpointError(f"{folder} has no checkpoint of step {step}: it has those of {there}")
    return folder / f"step-{there[-1] if step is None else step:08}"


def _checked(path: Path) -> str:
    """Return all sums of a checkpoint; CheckpointError where a file is not what was written."""
    rank, size = _here()
    name = SUMS
    try:
        text = (path / SUMS).read_bytes().decode()
        found = [line.split("  ", 1) for line in text.splitlines()]
        if ".metadata" not in [name for _, name in found]:
            raise ValueError
        for wanted, name in found[rank::size]:  # the ranks share the work
            if _sum(path / name) != wanted:
                raise ValueError
    except FileNotFoundError:
        raise CheckpointError(f"{path / name} is missing on this machine: {CURE}") from None
    except ValueError:
        raise CheckpointError(f"{path / name} is not as it was written: {CURE}") from None
    return text


def _begin(folder: Path, step: int) -> Path:
    """Make an empty draft."""
    _require_next(folder, step)
    draft = folder / f".step-{step:08}.{secrets.token_hex(8)}.draft"
    draft.mkdir(parents=True)
    return draft


def _finish(draft: Path, folder: Path, step: int, files: dict[str, str], keep: int) -> Path:
    """Give a complete draft its name, and remove all but the last `keep` checkpoints."""
    if files.keys() != {file.name for file in draft.iterdir()}:
        raise CheckpointError(
            f"{draft} does not hold what the ranks have written: choose a folder that all machines "
            "share and no other run uses"
        )
    text = "".join(f"{found}  {name}\n" for name, found in sorted(files.items()))
    write_whole(draft / SUMS, text)
    _to_disk(draft)
    _require_next(folder, step)
    path = draft.rename(folder / f"step-{step:08}")
    _to_disk(folder)
    LAST[folder.resolve()] = text
    for old in steps(folder)[:-keep]:
        with suppress(OSError):  # what cannot be removed does no harm
            (folder / f"step-{old:08}").rename(draft)  # a draft from now on, and whole until now
            shutil.rmtree(draft)
    for old in folder.glob(".step-*.draft"):  # of runs that were killed, or that come too late
        shutil.rmtree(old, ignore_errors=True)
    return path


def _require_next(folder: Path, step: int) -> None:
    """CheckpointError unless the last checkpoint is one that this run has saved or loaded."""
    last = latest(folder)
    if last is None:
        return
    sums = folder / f"step-{last:08}" / SUMS
    if last >= step or not sums.exists() or sums.read_text() != LAST.get(folder.resolve()):
        raise CheckpointError(
            f"{folder} holds the checkpoint of step {last} already, so step {step} belongs to "
            "another run: go on from there with resume(), or choose another folder"
        )


def _sum(file: Path) -> str:
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _to_disk(folder: Path) -> None:
    """Wait until the names in a folder are on the disk; Windows can't."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


# --- what the ranks say to each other ------------------------------------------------------------


def _here() -> tuple[int, int]:
    """Return this rank and the number of ranks; (0, 1) where nothing is connected."""
    connected = dist.is_available() and dist.is_initialized()
    return (dist.get_rank(), dist.get_world_size()) if connected else (0, 1)


def _together(
    work: Callable[[], Any], only_first: bool = False, cure: str = "choose another folder"
) -> list:
    """Do the work on every rank, or on rank 0 alone, and return all results.

    An error of one rank is raised on all of them: the others would wait for its next message.
    """
    rank, size = _here()
    mine: Any = None
    try:
        mine = work() if rank == 0 or not only_first else None
    except CheckpointError as error:
        mine = error
    except (OSError, PlanError, CheckpointException) as error:
        words = str(error)
        if isinstance(error, CheckpointException):  # all ranks have the same one
            number, (cause, _) = min(error.failures.items())
            words = f"rank {number}: {cause}"
        mine = CheckpointError(f"{words}: {cure}")
    every = [mine] * size
    if size > 1:
        dist.all_gather_object(every, mine)
    failed = [number for number, result in enumerate(every) if isinstance(result, CheckpointError)]
    if failed:
        error = every[failed[0]]
        raise type(error)(str(error) if len(failed) == size else f"rank {failed[0]}: {error}")
    return every


def _require_agreement(reports: list[tuple[str, dict]]) -> None:
    """CheckpointError unless the ranks save the same step, and replicas have the same values."""
    first: dict = {}
    for rank, (facts, sums) in enumerate(reports):
        if facts != reports[0][0]:
            raise CheckpointError(
                f"rank 0 saves {reports[0][0]} and rank {rank} {facts}: all ranks must save the "
                "same training after the same step"
            )
        for key, (place, seen) in sums.items():
            other, theirs = first.setdefault((key, place), (rank, seen))
            if theirs != seen:
                raise CheckpointError(
                    f"ranks {other} and {rank} hold different values of {key}: average the "
                    "gradients of replicas in every step, and give different stages "
                    "Training(name=...), which names them as in the whole model"
                )
