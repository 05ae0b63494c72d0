"""GP-3: where a sequence of layers is cut; and with one thing done wrong."""

import random


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


def truth(case, begins=lambda before, here: before != here, gathered=False, lost=0, **wrong):
    """The observation. begins: whether a part begins between two devices."""
    parts = []
    for n, mark in enumerate(case):
        if gathered and any(case[part[0]] == mark for part in parts):
            next(part for part in parts if case[part[0]] == mark).append(n)
        elif n and not begins(case[n - 1], mark):
            parts[-1].append(n)
        else:
            parts.append([n])
    right = {
        "parts": parts[: len(parts) - lost],
        "kinds": ["ModuleList", "Sequential"],
        "devices": [f"cpu:{case[part[0]]}" for part in parts],
    }
    return right | wrong


MISTAKES = {
    "every layer is a part of its own: a part ends where the device changes, and not before": {
        "begins": lambda before, here: True
    },
    "all layers are in one part: a part ends where the device changes": {
        "begins": lambda before, here: False
    },
    "all layers of a device are in one part: a batch must go through the layers as they stand, so "
    "a device may have two parts": {"gathered": True},
    "a part still holds WithDevice: use _assemble_partition": lambda case: truth(
        case, parts=[["a mark"] * len(part) for part in truth(case)["parts"]]
    ),
    "the devices are those of the layers, and should be those of the parts: one a part": (
        lambda case: truth(case, devices=[f"cpu:{mark}" for mark in case])
    ),
    "give nn.ModuleList of nn.Sequential, not a list": {"kinds": ["Sequential", "list"]},
    "the last part is missing: the parts must have each layer once": {"lost": 1},
}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    numbers, right = [n for part in seen["parts"] for n in part], truth(case)
    if "a mark" in numbers:
        return "a part still holds WithDevice: use _assemble_partition"
    if sorted(numbers) != list(range(len(case))):
        return f"the parts have layers {numbers}: each layer once"
    if numbers != sorted(numbers):
        return (
            f"the layers come in the order {numbers}: a batch must go through them as they stand, "
            "so a device may have two parts"
        )
    if seen["parts"] != right["parts"]:
        lengths = (", ".join(str(len(part)) for part in one["parts"]) for one in (seen, right))
        return (
            "the parts have {} layers, and should have {}: a part ends where the device "
            "changes".format(*lengths)
        )
    if seen["kinds"] != right["kinds"]:
        return f"give nn.ModuleList of nn.Sequential, not {' of '.join(seen['kinds'])}"
    return f"the devices are {seen['devices']}, and should be {right['devices']}: one a part"
