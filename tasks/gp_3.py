"""GP-3 (problem 2.1): cut a sequence of layers where the device changes."""

from helpers.grade import Task
from tasks import _gp  # noqa: F401

TASK = Task(
    id="GP-3",
    title="cut a sequence of layers wherever the device changes",
    file="gpt2/pipeline/partition.py",
    function="_split_module",
    notebook="20",
    points=10,
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


def run(module, case):
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
