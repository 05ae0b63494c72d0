"""An optimizer's state by the names of the whole model: momenta, step counts, learning rates."""

import json
from collections.abc import Mapping

import torch

from helpers.checkpoint.errors import CheckpointError
from helpers.checkpoint.training import STATE, Training

Settings = dict[str, object]  # of one parameter group: lr, betas, …


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
                found[f"{STATE}{training.name(name)}/{key}"] = part_of(
                    training, name, key, tensor, parameter
                )
    return found


def part_of(
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


def settings_of(training: Training) -> dict[str, Settings]:
    """Of each parameter, by its name, the settings of its group."""
    found, known = {}, {}
    for names, _, group in training.parameters():
        if id(group) not in known:
            known[id(group)] = {k: _plain(k, v) for k, v in group.items() if k != "params"}
        for name in names:
            found[training.name(name)] = known[id(group)]
    return found


def pack_settings(found: Mapping[str, Settings]) -> dict:
    """Settings of many parameters, each different one once, as JSON holds them."""
    different = list({json.dumps(s, sort_keys=True): s for s in found.values()}.values())
    return {"all": different, "of": {name: different.index(s) for name, s in found.items()}}


def wanted_settings(training: Training, packed: Mapping) -> list[tuple[dict, Settings]]:
    """The groups of the optimizer, each with the settings that its parameters had.

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
    training: Training, saved: Mapping[str, torch.dtype], sizes: Mapping[str, torch.Size]
) -> tuple[dict[str, torch.Tensor], dict[torch.Tensor, dict[str, torch.Tensor]]]:
    """Room for the state that was saved.

    saved, sizes: of each tensor of the checkpoint, by its key, dtype and shape.
    Gives the tensors to read into, by key, and what will be each parameter's state once they are.
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
            if sizes[key] == whole.shape:
                room = torch.zeros_like(parameter.detach(), dtype=saved[key])
                targets[key] = training.as_part(names[0], room)
            else:
                on_gpu = group.get("capturable") or group.get("fused")
                device = parameter.device if on_gpu or sizes[key].numel() > 1 else "cpu"
                room = targets[key] = torch.zeros(sizes[key], dtype=saved[key], device=device)
            states.setdefault(parameter, {})[what] = room
    return targets, states


def _plain(key: str, value: object) -> object:
    """A setting as JSON can hold it."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        raise CheckpointError(
            f"the optimizer's setting {key} is a {type(value).__name__}, which cannot be saved: "
            "use numbers, words, and lists of them"
        ) from None
