"""What a rank trains, as tensors with names that do not depend on how the ranks divide it."""

import hashlib
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Shard

from helpers.parallel.plan import Plan, cut_dimension


class CheckpointError(ValueError):
    """A checkpoint could not be written or read; the message says which, why, and what to do."""


@dataclass
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
        """Return the tensors by their names in the whole model; they share the model's memory."""
        held = self.model.state_dict()
        found = {f"model/{self.name(name)}": self.part(name, held[name]) for name in held}
        if len(found) < len(held):
            raise CheckpointError(
                f"{len(held)} tensors of this rank have only {len(found)} names: give "
                "Training(name=...), a function that tells them apart"
            )
        return found

    def trained(self) -> Iterator[tuple[str, nn.Parameter, dict]]:
        """Yield each parameter that is trained, under each of its names, with its group."""
        groups = self.optimizer.param_groups if self.optimizer else ()
        group_of = {id(p): group for group in groups for p in group["params"]}
        named = self.model.named_parameters(remove_duplicate=False)
        return ((name, p, group_of[id(p)]) for name, p in named if id(p) in group_of)

    def state(self) -> dict[str, Any]:
        """Return {"optimizer/NAME/exp_avg": tensor, …, "group/NAME": settings}."""
        found: dict[str, Any] = {}
        for name, parameter, group in self.trained():
            settings = {key: value for key, value in group.items() if key != "params"}
            found[f"group/{self.name(name)}"] = pickle.dumps(settings)
            for key, value in self.optimizer.state.get(parameter, {}).items():
                if value is not None:
                    part = self.part(name, torch.as_tensor(value))
                    found[f"optimizer/{self.name(name)}/{key}"] = part
        return found

    def room(self, saved: dict, states: dict) -> dict[str, torch.Tensor]:
        """Return tensors to read the optimizer's state into, by key; in `states` by parameter.

        saved: of each tensor of the checkpoint, by key, what torch knows about it.
        """
        tensors = {}
        for name, parameter, group in self.trained():
            start = f"optimizer/{self.name(name)}/"
            for key in (key for key in saved if key.startswith(start)):
                size, dtype = saved[key].size, saved[key].properties.dtype
                empty = torch.zeros_like(parameter.detach(), dtype=dtype)
                tensors[key] = self.part(name, empty)
                if size != tensors[key].shape:
                    # The number of steps, say, which lies on the CPU unless a GPU counts.
                    on_gpu = group.get("capturable") or group.get("fused") or size.numel() > 1
                    device = parameter.device if on_gpu else "cpu"
                    tensors[key] = empty = torch.zeros(size, dtype=dtype, device=device)
                states.setdefault(parameter, {})[key.removeprefix(start)] = empty
        return tensors

    def part(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Return the tensor, or where the plan cuts it a DTensor: a part that knows its place."""
        dim = cut_dimension(name, self.plan) if self.plan and dist.is_initialized() else None
        if dim is None or tensor.dim() == 0 or isinstance(tensor, DTensor):
            return tensor
        mesh = DeviceMesh.from_group(self.group or dist.group.WORLD, tensor.device.type)
        return DTensor.from_local(tensor, mesh, [Shard(dim)], run_check=False)


def place_and_sum(name: str, tensor: torch.Tensor) -> tuple[tuple, tuple]:
    """Return which part of the whole tensor a rank holds; its shape, and a sum of its values."""
    place = tensor.device_mesh.get_coordinate() if isinstance(tensor, DTensor) else ()
    local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    plain = local.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return (name, *place), (tuple(tensor.shape), hashlib.sha256(plain.numpy()).hexdigest())
