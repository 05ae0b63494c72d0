"""A model's weights in a safetensors file, written and read whole or not at all."""

import os
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn


def save_model(model: nn.Module, path: str | Path) -> None:
    """Write the weights of `model` to `path`, whole or not at all; tied weights once."""
    tensors = {name: t.detach().cpu().contiguous() for name, t in own_tensors(model).items()}
    write_whole(path, save(tensors, metadata={"format": "pt"}))


def load_model(model: nn.Module, path: str | Path) -> nn.Module:
    """Read the weights at `path` into `model`, in place, and return it.

    The model keeps its device and type. It is not touched unless every name and shape agrees.
    """
    try:
        tensors = load(Path(path).read_bytes())
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no checkpoint at {path}: write one with save_model(model, path)."
        ) from None
    except SafetensorError as error:
        raise ValueError(
            f"{path} is not a whole safetensors checkpoint ({error}): it was cut off or is another "
            "kind of file, so copy or write it again."
        ) from None
    own = own_tensors(model)
    for name in own | tensors:
        here, there = (tuple(t[name].shape) if name in t else "missing" for t in (own, tensors))
        if here != there:
            words = f"{name} is {there} in the file and {here} in this model"
            raise ValueError(f"{path} is the checkpoint of another model: {words}.")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(tensors[name])
    return model


def own_tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return the state dict, with a tied tensor only under its first name."""
    names = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        names.setdefault(id(tensor), (name, tensor))
    return dict(names.values())


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file under another name and rename it at the end, so no reader sees half of it."""
    path = Path(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(draft, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        if draft.is_file():
            draft.unlink()
        raise OSError(
            f"{path} ({len(data) / 1e6:.1f} MB) was not written ({error.strerror}): make "
            "room, check the folder, or choose another; a file that was there is unchanged."
        ) from error
