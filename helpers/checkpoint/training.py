"""What a rank trains, as tensors with names that do not depend on how the ranks divide it."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Shard

from helpers.checkpoint.errors import CheckpointError
from helpers.checkpoint.together import here
from helpers.parallel import PlanError
from helpers.parallel.plan import Plan, cut_dimension

WEIGHT, STATE = "model/", "optimizer/"


@dataclass(frozen=True)
class Training:
    """What this rank holds of one training.

    model: this rank's part of the model: all of it, a stage of a pipeline, or several stages in a
        ModuleList.
    optimizer: over parameters of that part; None: only the weights are saved and loaded.
    name: from a tensor's name in `model` to its name in the whole model. By default they are the
        same. For a stage of a LLaMA: lambda name: whole_name(name, stage.first_layer).
    plan, group: how `helpers.parallel.cut` has cut the layers among the ranks of a group (None: all
        ranks). Parameters that are DTensors, as those of torch's `fully_shard`, need neither.

    Several ranks may hold the same tensor: then it must have the same values on all of them.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer | None = None
    name: Callable[[str], str] = str
    plan: Plan | None = None
    group: Any = None

    def weights(self) -> dict[str, torch.Tensor]:
        """The tensors of the model by their whole names; they share their memory with the model."""
        found: dict[str, torch.Tensor] = {}
        for name, tensor in self.model.state_dict().items():
            whole = self.name(name)
            if whole in found:
                raise CheckpointError(
                    f"two tensors of this rank have the name {whole}: give Training(name=...), a "
                    "function that tells them apart"
                )
            found[whole] = self.as_part(name, tensor)
        return found

    def parameters(self) -> Iterator[tuple[list[str], nn.Parameter, dict]]:
        """Each parameter that the optimizer trains: its names in `model`, itself, its group.

        Tied weights are one parameter with several names.
        """
        names: dict[int, list[str]] = {}
        for name, parameter in self.model.named_parameters(remove_duplicate=False):
            names.setdefault(id(parameter), []).append(name)
        for group in self.optimizer.param_groups if self.optimizer else ():
            for parameter in group["params"]:
                if id(parameter) not in names:
                    raise CheckpointError(
                        f"the optimizer trains a parameter {_shape(parameter)} that is not in the "
                        "model: give Training the model that the optimizer was made for"
                    )
                yield names[id(parameter)], parameter, group

    def as_part(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor itself, or where the plan cuts it a DTensor: a part that knows its place."""
        if self.plan is None or isinstance(tensor, DTensor):
            return tensor
        try:
            dim = cut_dimension(name, self.plan)
        except PlanError as error:
            raise CheckpointError(str(error)) from None
        if dim is None or dim >= tensor.dim() or here()[1] == 1:
            return tensor
        group = self.group or torch.distributed.group.WORLD
        mesh = DeviceMesh.from_group(group, tensor.device.type)
        return DTensor.from_local(tensor, mesh, [Shard(dim)], run_check=False)


def local(tensor: torch.Tensor) -> torch.Tensor:
    """What of a tensor lies on this rank."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def place_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Which part of the whole tensor this is; () where it is all of it."""
    return tuple(tensor.device_mesh.get_coordinate() or ()) if isinstance(tensor, DTensor) else ()


def checksum(tensor: torch.Tensor) -> int:
    """A number that two tensors share only if they have the same values (nearly always)."""
    plain = local(tensor).detach().cpu().contiguous().reshape(-1)
    return zlib.crc32(plain.view(torch.uint8).numpy())


def _shape(tensor: torch.Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"
