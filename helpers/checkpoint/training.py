"""What a rank trains, as tensors with names that do not depend on how the ranks divide it."""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Shard

from helpers.checkpoint.errors import CheckpointError, here
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
    """Return the part of a tensor that lies on this rank."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def mesh_place(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return which part of the whole tensor this is; () where it is all of it."""
    return tuple(tensor.device_mesh.get_coordinate() or ()) if isinstance(tensor, DTensor) else ()


def checksum(tensor: torch.Tensor) -> int:
    """Return the CRC-32 of a tensor's values."""
    plain = local(tensor).detach().cpu().contiguous().reshape(-1)
    return zlib.crc32(plain.view(torch.uint8).numpy())


def _shape(tensor: torch.Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


GroupOptions = dict[str, object]  # of one parameter group: lr, betas, …


def state_of(training: Training) -> dict[str, torch.Tensor]:
    """{"optimizer/NAME/exp_avg": tensor, …}: what the optimizer keeps for each parameter.

    A tied weight's state stands under each of its names, so that stages that hold one of them find
    it. Raises CheckpointError for a state that cannot be cut as its parameter is.
    """
    found = {}
    for names, parameter, _ in training.parameters():
        for key, value in training.optimizer.state.get(parameter, {}).items():
            if value is None:
                continue
            tensor = torch.as_tensor(value)
            for name in names:
                found[f"{STATE}{training.name(name)}/{key}"] = _state_part(
                    training, name, key, tensor, parameter
                )
    return found


def _state_part(
    training: Training, name: str, key: str, tensor: torch.Tensor, parameter: torch.Tensor
) -> torch.Tensor:
    """A state of a parameter as the part of the whole that it is. `as_part` says more."""
    if tensor.shape == parameter.shape:
        return training.as_part(name, tensor)
    if tensor.numel() > 1 and training.as_part(name, parameter) is not parameter:
        raise CheckpointError(
            f"the optimizer's {key} of {name} has another shape than the parameter, which is cut "
            "among ranks: its part of the whole is not known, so this optimizer cannot be saved "
            "with a plan"
        )
    return tensor


def settings_of(training: Training) -> dict[str, GroupOptions]:
    """Return the settings of each parameter's group, by the parameter's name."""
    found, known = {}, {}
    for names, _, group in training.parameters():
        if id(group) not in known:
            known[id(group)] = {k: _plain(k, v) for k, v in group.items() if k != "params"}
        for name in names:
            found[training.name(name)] = known[id(group)]
    return found


def pack_settings(found: Mapping[str, GroupOptions]) -> dict:
    """Return the settings of many parameters as JSON holds them, each different one once."""
    different = list({json.dumps(s, sort_keys=True): s for s in found.values()}.values())
    return {"all": different, "of": {name: different.index(s) for name, s in found.items()}}


def wanted_settings(training: Training, packed: Mapping) -> list[tuple[dict, GroupOptions]]:
    """Return the groups of the optimizer, each with the settings that its parameters had.

    Raises CheckpointError where one group's parameters had different settings.
    """
    wanted: dict[int, tuple[dict, set[int]]] = {}
    for names, _, group in training.parameters():
        numbers = wanted.setdefault(id(group), (group, set()))[1]
        numbers.update(packed["of"][n] for n in map(training.name, names) if n in packed["of"])
    found = []
    for group, numbers in wanted.values():
        if len(numbers) > 1:
            raise CheckpointError(
                "the parameters of one group of this optimizer were in different groups, with "
                "settings of their own, when they were saved: make the optimizer with those groups"
            )
        for number in numbers:
            settings = packed["all"][number].items()
            found.append((group, {k: tuple(v) if isinstance(v, list) else v for k, v in settings}))
    return found


def empty_state(
    training: Training, saved: Mapping[str, TensorStorageMetadata]
) -> tuple[dict[str, torch.Tensor], dict[torch.Tensor, dict[str, torch.Tensor]]]:
    """Make room for the state that was saved.

    saved: what is known of each tensor of the checkpoint, by its key.
    Returns the tensors to read into, by key, and what will be each parameter's state once they are.
    """
    keys: dict[str, list[str]] = {}
    for key in saved:
        if key.startswith(STATE):
            name, _, what = key.removeprefix(STATE).rpartition("/")
            keys.setdefault(name, []).append(what)
    targets, states = {}, {}
    for names, parameter, group in training.parameters():
        whole = training.as_part(names[0], parameter.detach())
        name = training.name(names[0])
        for what in keys.get(name, ()):
            key = f"{STATE}{name}/{what}"
            size, dtype = saved[key].size, saved[key].properties.dtype
            if size == whole.shape:
                room = torch.zeros_like(parameter.detach(), dtype=dtype)
                targets[key] = training.as_part(names[0], room)
            else:
                on_gpu = group.get("capturable") or group.get("fused")
                device = parameter.device if on_gpu or size.numel() > 1 else "cpu"
                room = targets[key] = torch.zeros(size, dtype=dtype, device=device)
            states.setdefault(parameter, {})[what] = room
    return targets, states


def _plain(key: str, value: object) -> object:
    """Return a setting as JSON can hold it."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        raise CheckpointError(
            f"the optimizer's setting {key} is a {type(value).__name__}, which cannot be saved: "
            "use numbers, words, and lists of them"
        ) from None
