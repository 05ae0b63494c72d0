"""Does a checkpoint fit the model and the optimizer that it is to be read into?"""

from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata

from helpers.checkpoint.errors import CURE, CheckpointError
from helpers.checkpoint.training import WEIGHT, Training


def tensors_in(path: Path) -> dict[str, TensorStorageMetadata]:
    """The tensors of a checkpoint by their keys: shape, type, and where each part lies."""
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
