"""GP-3 (problem 2.1): cut a sequence of layers wherever the device changes."""

import random
from itertools import groupby

from torch import nn

NAME = "layers on devices {devices}"
LESSON, MINUTES = "micro_batches", 20
PAGE = "gpt2/README.md"


def observe(module, case):
    layers = [nn.Linear(1, 1) for _ in case["devices"]]
    pairs = zip(layers, case["devices"], strict=True)
    marked = (module.WithDevice(layer, f"cpu:{n}") for layer, n in pairs)
    parts, devices = module._split_module(nn.Sequential(*marked))
    number = {id(layer): n for n, layer in enumerate(layers)}
    return {
        "parts": [[number.get(id(layer), "a mark") for layer in part] for part in parts],
        "kinds": sorted({type(part).__name__ for part in (parts, *parts)}),
        "devices": [str(device) for device in devices],
    }


def cases():
    """The number of the device of each layer; two are drawn, where every device comes twice."""
    drawn = []
    for devices in (2, 3):
        blocks = [[n] * random.randint(1, 3) for n in [*range(devices), *range(devices)]]
        drawn.append([mark for block in blocks for mark in block])
    known = [[0, 0, 1], [0, 1, 1, 0], [1], [0, 1, 2, 2]]
    return [{"devices": devices} for devices in known + drawn]


def explain(case, seen):
    parts, case = seen["parts"], case["devices"]
    layers = list(range(len(case)))
    right = [list(part) for _, part in groupby(layers, key=lambda n: case[n])]
    of_device = [[n for n in layers if case[n] == device] for device in dict.fromkeys(case)]
    numbers = [n for part in parts for n in part]
    as_they_stand = "a batch must go through them as they stand, so a device may have two parts"
    if "a mark" in numbers:
        return "a part still holds WithDevice: use _assemble_partition"
    if parts == right and seen["kinds"] != ["ModuleList", "Sequential"]:
        return "give nn.ModuleList of nn.Sequential, not a list"
    if parts == right and seen["devices"] != [f"cpu:{case[part[0]]}" for part in right]:
        return "the devices are those of the layers, and should be those of the parts: one a part"
    if parts == right:
        return None
    rules = {
        "every layer is a part of its own: a part ends where the device changes, and not before":
            parts == [[n] for n in layers],
        "all layers are in one part: a part ends where the device changes": parts == [layers],
        f"all layers of a device are in one part: {as_they_stand}": parts == of_device,
        "the last part is missing: the parts must have each layer once": parts == right[:-1],
        f"the parts have layers {numbers}: each layer once": sorted(numbers) != layers,
        f"the layers come in the order {numbers}: {as_they_stand}": numbers != layers,
        f"the parts have the layers {parts}, and should have {right}": True,
    }  # fmt: skip
    return next(sentence for sentence, broken in rules.items() if broken)
