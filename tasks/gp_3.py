"""GP-3 (problem 2.1): cut a sequence of layers where the device changes."""

from pathlib import Path

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

gp = load_module(Path(__file__).with_name("_gp.py"), "lab_task_gp")

TASK = Task(
    id="GP-3",
    title="cut a sequence of layers wherever the device changes",
    file="gpt2/pipeline/partition.py",
    function="_split_module",
    notebook="16",
    points=10,
    minutes=20,
    hints=(
        "Go through the layers in order. When does a new part begin, and when does a layer join "
        "the part before it?",
        "_retrieve_device says where a layer is. Compare it with the device of the part that you "
        "are filling, and not with all devices so far: a batch goes through the layers in order.",
        "Keep a list of lists of layers, and a list of devices. Then _assemble_partition makes a "
        "Sequential of each list; give nn.ModuleList of them, and the devices.",
    ),
)
# The device of each layer, and how many layers each part has.
CASES = [((0, 0, 1), (2, 1)), ((0, 1, 1, 0), (1, 2, 1)), ((1,), (1,)), ((0, 1, 2, 2), (1, 1, 2))]


def work(module, seed):
    """Of each case: the layers in each part by number, the kinds, the devices."""
    import torch

    found = []
    for marks, _ in CASES:
        layers = [torch.nn.Linear(1, 1) for _ in marks]
        pairs = zip(layers, marks, strict=True)
        marked = [module.WithDevice(layer, f"cpu:{mark}") for layer, mark in pairs]
        parts, devices = module._split_module(torch.nn.Sequential(*marked))
        number = {id(layer): n for n, layer in enumerate(layers)}
        # Which layer it is can only be seen here: that it is the same object.
        inside = [[number.get(id(layer), "a mark") for layer in part] for part in parts]
        kinds = {type(part).__name__ for part in parts} | {type(parts).__name__}
        found.append((inside, sorted(kinds), [str(device) for device in devices]))
    return found


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    (found,) = submission.on_ranks(work, 1, submission.seed)
    for (marks, lengths), (inside, kinds, devices) in zip(CASES, found, strict=True):
        where = f"layers on devices {', '.join(map(str, marks))}"
        numbers = [n for part in inside for n in part]
        if "a mark" in numbers:
            raise Mistake(f"{where}: a part still holds WithDevice: use _assemble_partition")
        if sorted(numbers) != list(range(len(marks))):
            raise Mistake(f"{where}: the parts have layers {numbers}: each layer once")
        if numbers != sorted(numbers):
            raise Mistake(
                f"{where}: the layers come in the order {numbers}: a batch must go through them "
                "as they stand, so a device may have two parts"
            )
        if tuple(map(len, inside)) != lengths:
            raise Mistake(
                f"{where}: the parts have {', '.join(str(len(part)) for part in inside)} layers, "
                f"and should have {', '.join(map(str, lengths))}: a part ends where the device "
                "changes"
            )
        if kinds != ["ModuleList", "Sequential"]:
            raise Mistake(f"{where}: give nn.ModuleList of nn.Sequential, not {' of '.join(kinds)}")
        right = [f"cpu:{marks[part[0]]}" for part in inside]
        if devices != right:
            raise Mistake(f"{where}: the devices are {devices}, and should be {right}: one a part")
