"""What many lessons do with a script: train by it, measure what it keeps, compare two of them."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from helpers.lesson.shown import find_file
from helpers.ranks import find_place, launch


def train_script(
    path: str | Path,
    flags: Sequence[str] = (),
    ranks: int = 0,
    dtype: torch.dtype | None = None,
    checked: bool = True,
) -> Any:
    """Train as a script does that is started with these flags; return what its `train` returns.

    With ranks it's a list, of what each of them returns. Nothing is printed.

    Args:
        path: of the script, from the current folder or from the top of the project.
        ranks: on how many; 0 is one device, here.
        dtype: of the weights, if not float32.
        checked: whether ranks compare notes before each operation.
    """
    if ranks:
        given = (path, flags, dtype, True)
        return launch(_train, ranks, args=given, quiet=True, checked=checked)
    return _train(path, flags, dtype, on_a_rank=False)


def _train(
    path: str | Path, flags: Sequence[str], dtype: torch.dtype | None, on_a_rank: bool
) -> Any:
    script, before = _imported(path), torch.get_default_dtype()
    torch.set_default_dtype(dtype or before)
    try:
        options = script.read_flags([*flags])
        if on_a_rank:
            return script.train(options, find_place(), "cpu", lambda step, loss: None)
        return script.train(options, say=lambda step, loss: None)
    finally:
        torch.set_default_dtype(before)


def _imported(path: str | Path) -> ModuleType:
    """Return the script as a module, which finds what lies beside it."""
    file = find_file(path).resolve()
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    return importlib.import_module(file.stem)


def distances(
    some: Mapping[str, torch.Tensor], whole: Mapping[str, torch.Tensor]
) -> dict[str, float]:
    """Return the largest difference between each tensor and the one of its name in `whole`."""
    return {name: (some[name] - whole[name]).abs().max().item() for name in some}


def kept_for_backward(forward: Callable[[], Any], module: nn.Module) -> tuple[Any, int]:
    """Return what `forward` returns, and the bytes it keeps for backward, weights not counted.

    module: of which the weights aren't counted, as they are there anyway.
    """
    blocks: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:  # autograd calls it with all it keeps
        blocks[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = forward()
    own = {p.untyped_storage().data_ptr() for p in module.parameters()}
    return result, sum(size for place, size in blocks.items() if place not in own)
