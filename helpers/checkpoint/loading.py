"""Read a checkpoint: every rank its part, on the layout that it was written on or another one."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata

from helpers.checkpoint import folder as folders
from helpers.checkpoint.errors import (
    CURE,
    CheckpointError,
    NoCheckpoint,
    by_all,
    by_first,
    here,
)
from helpers.checkpoint.saving import held, random_state
from helpers.checkpoint.training import WEIGHT, Training, empty_state, wanted_settings
from helpers.checkpoint.whole import facts_of_whole, read_facts, why_not_the_same


@dataclass(frozen=True)
class Resumed:
    """Where a training goes on.

    step: how many steps are done: the number of the next one, counted from 0.
    position: as it was given to `save`; None at the beginning.
    path: what was read; None: nothing, the training begins.
    random: whether random numbers go on where they stopped. They do where every rank holds what
        the rank of its number held before; on another layout they are left as they are.
    """

    step: int = 0
    position: Any = None
    path: Path | None = None
    random: bool = False


def load(folder: str | os.PathLike, training: Training, step: int | None = None) -> Resumed:
    """Read a checkpoint into the training, in place; all ranks call it together.

    step: which one; None: the last whole one. The layout may be another than when it was saved:
    more ranks or fewer, other stages, layers cut or whole. The optimizer gets its state and its
    settings (learning rate and so on) back.

    Raises:
        NoCheckpoint, CheckpointError: the same on all ranks: none there, half written, a file
            missing, other bytes than were written, another model or optimizer. Then nothing has
            changed, unless the disk failed in the middle of reading.
    """
    folder = Path(folder)
    path = Path(by_first(lambda: str(folders.choose(folder, step))))
    seen = by_all(lambda: _facts_seen(path))
    facts = seen[0]
    if any(each["sum"] != facts["sum"] for each in seen):
        raise CheckpointError(
            f"the ranks see different checkpoints at {path}: the folder must be one that all "
            "machines share"
        )
    wanted: dict[str, torch.Tensor] = {}
    states: dict = {}
    settings: list = []

    def prepare() -> set[str]:
        """What to read; the names of all tensors that this rank holds."""
        require_optimizer(path, facts, training)
        there = tensors_in(path)
        weights = training.weights()
        require_same(path, there, weights)
        wanted.update({WEIGHT + name: tensor for name, tensor in weights.items()})
        room, found = empty_state(training, there)
        wanted.update(room)
        states.update(found)
        settings.extend(wanted_settings(training, facts["settings"]))
        return set(weights)

    names = set().union(*by_all(prepare))
    by_first(lambda: require_all_used(path, names))
    mine = held(wanted)
    goes_on = by_all(lambda: mine) == facts["held"]
    random = random_state() if goes_on else {}
    by_all(lambda: _read(path, wanted, random, facts["token"]))
    for key, state in random.items():
        (torch.cuda if key.endswith("cuda") else torch).set_rng_state(state)
    if training.optimizer is not None:
        training.optimizer.state.clear()
        training.optimizer.state.update(states)
    for group, found in settings:
        group.update(found)
    return Resumed(facts["step"], facts["position"], path, goes_on)


def resume(folder: str | os.PathLike, training: Training) -> Resumed:
    """Go on from the last whole checkpoint, or from the beginning where the folder holds none.

    So a script that calls it can be started again after whatever has happened. Raises as `load`
    does: where there are checkpoints and none is whole, it does not begin again in silence.
    """
    try:
        return load(folder, training)
    except NoCheckpoint:
        return Resumed()


def _facts_seen(path: Path) -> dict:
    """Return the facts as this rank sees them: each machine must see all files."""
    try:
        facts = facts_of_whole(path)
    except CheckpointError as error:
        raise CheckpointError(
            f"this rank does not see all of {path}: {error}; the folder must be one that all "
            "machines share"
        ) from None
    reason = why_not_the_same(path, facts["files"], *here())
    if reason is not None:
        raise CheckpointError(f"{path} is damaged: {reason}")
    return facts


def _read(path: Path, wanted: dict, random: dict, token: str) -> None:
    """Fill the tensors with what stands in the checkpoint."""
    for key in random.keys() - tensors_in(path).keys():
        del random[key]  # a GPU that was not used before
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that each rank reads for itself is meant so
            dcp.load(wanted | random, storage_reader=dcp.FileSystemReader(path), no_dist=True)
    except (CheckpointException, OSError, RuntimeError) as error:
        words = str(error).strip().splitlines()[-1]
        raise CheckpointError(f"{path} cannot be read ({words}): {CURE}") from error
    if read_facts(path)["token"] != token:
        raise CheckpointError(f"{path} was replaced while it was read: load it again")


def tensors_in(path: Path) -> dict[str, TensorStorageMetadata]:
    """Return the tensors of a checkpoint by key: shape, type, and where each part lies."""
    try:
        metadata: Metadata = dcp.FileSystemReader(path).read_metadata()
    except Exception as error:  # whatever a damaged pickle gives
        raise CheckpointError(
            f"{path}/.metadata cannot be read ({type(error).__name__}): {CURE}"
        ) from error
    return {
        key: found
        for key, found in metadata.state_dict_metadata.items()
        if isinstance(found, TensorStorageMetadata)
    }


def require_optimizer(path: Path, facts: dict, training: Training) -> None:
    """CheckpointError unless it was saved with an optimizer of this kind, or none is wanted."""
    if training.optimizer is None:
        return
    name = type(training.optimizer).__name__
    if facts["optimizer"] is None:
        raise CheckpointError(
            f"{path} holds weights alone and no optimizer: load it with Training(model), and begin "
            f"with a new {name}"
        )
    if facts["optimizer"] != name:
        raise CheckpointError(
            f"{path} was saved with the optimizer {facts['optimizer']} and this one is {name}: "
            "take the same, or load the weights alone with Training(model)"
        )


def require_same(path: Path, there: dict, weights: dict[str, torch.Tensor]) -> None:
    """CheckpointError, with the first tensor that differs, unless it holds all of `weights`."""
    start = f"{path} is the checkpoint of another model"
    for name, tensor in weights.items():
        if WEIGHT + name not in there:
            raise CheckpointError(f"{start}: it has no {name}, {_shape(tensor.shape)} here")
        size = there[WEIGHT + name].size
        if size != tensor.shape:
            raise CheckpointError(
                f"{start}: {name} is {_shape(size)} in it and {_shape(tensor.shape)} here"
            )


def require_all_used(path: Path, names: set[str]) -> None:
    """CheckpointError unless each of its weights has one of the names that the ranks hold."""
    for key, found in tensors_in(path).items():
        if key.startswith(WEIGHT) and key.removeprefix(WEIGHT) not in names:
            raise CheckpointError(
                f"{path} is the checkpoint of another model: its {key.removeprefix(WEIGHT)}, "
                f"{_shape(found.size)}, is held by no rank here"
            )


def _shape(size: torch.Size) -> str:
    return f"({', '.join(map(str, size))})"
