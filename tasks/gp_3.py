"""GP-3 (problem 2.1): cut a sequence of layers where the device changes."""

import random

from helpers.grade import Task

TASK = Task(
    title="cut a sequence of layers wherever the device changes",
    file="gpt2/pipeline/partition.py",
    function="_split_module",
    lesson="gpt2_two_ways",
    minutes=20,
    hints=(
        "Go through the layers in order. When does a new part begin, and when does a layer join "
        "the part before it?",
        "_retrieve_device says where a layer is. Compare that with the device of the part that "
        "you're filling, not with all devices so far: a batch goes through the layers in order.",
        "Keep a list of lists of layers, and a list of devices. Then _assemble_partition makes a "
        "Sequential of each list. Return an nn.ModuleList of them, and the devices.",
    ),
)


def observe(module, case):
    """The layers in each part, by number; the kinds of the parts, and their devices.

    case: the number of the device of each layer.
    """
    import torch

    layers = [torch.nn.Linear(1, 1) for _ in case]
    marked = [
        module.WithDevice(layer, f"cpu:{mark}") for layer, mark in zip(layers, case, strict=True)
    ]
    parts, devices = module._split_module(torch.nn.Sequential(*marked))
    number = {id(layer): n for n, layer in enumerate(layers)}
    return {
        "parts": [[number.get(id(layer), "a mark") for layer in part] for part in parts],
        "kinds": sorted({type(part).__name__ for part in parts} | {type(parts).__name__}),
        "devices": [str(device) for device in devices],
    }


def cases(seed):
    """The number of the device of each layer; two are drawn, where every device comes twice."""
    draw = random.Random(seed)
    drawn = []
    for devices in (2, 3):
        blocks = [[n] * draw.randint(1, 3) for n in [*range(devices), *range(devices)]]
        drawn.append([mark for block in blocks for mark in block])
    return [[0, 0, 1], [0, 1, 1, 0], [1], [0, 1, 2, 2], *drawn]


def name(case):
    return f"layers on devices {', '.join(map(str, case))}"


MUTANTS = {
    ("not devices or device != devices[-1]", "True"): "every layer is a part of its own: a part "
    "ends where the device changes, and not before",
    (" or device != devices[-1]", ""): "all layers are in one part: a part ends where the device "
    "changes",
    """
groups = {}
for module in modules:
    groups.setdefault(_retrieve_device(module), []).append(module)
return nn.ModuleList(map(_assemble_partition, groups.values())), list(groups)
""": "all layers of a device are in one part: a batch must go through the layers as they stand, so "
    "a device may have two parts",
    ("_assemble_partition(part) for", "nn.Sequential(*part) for"): "a part still holds WithDevice: "
    "use _assemble_partition",
    (
        "in parts), devices",
        "in parts), [_retrieve_device(layer) for layer in modules]",
    ): "the devices are those of the layers, and should be those of the parts: one a part",
    (
        "nn.ModuleList(_assemble_partition(part) for part in parts)",
        "[_assemble_partition(part) for part in parts]",
    ): "give nn.ModuleList of nn.Sequential, not a list",
    ("in parts)", "in parts[:-1])"): "the last part is missing: the parts must have each layer "
    "once",
}


def explain(case, seen):
    """Say which layers the parts have, where it isn't each once and in order."""
    numbers = [n for part in seen["parts"] for n in part]
    if "a mark" in numbers:
        return "a part still holds WithDevice: use _assemble_partition"
    if sorted(numbers) != list(range(len(case))):
        return f"the parts have layers {numbers}: each layer once"
    if numbers != sorted(numbers):
        return (
            f"the layers come in the order {numbers}: a batch must go through them as they stand, "
            "so a device may have two parts"
        )
    return None
