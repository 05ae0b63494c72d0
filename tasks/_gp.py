"""What the GPT-2 tasks share: the folder is an import root of its own."""

import sys

from helpers.grade.task import ROOT

# `pipeline`, `project` and `wrong_input` are the grader's own, whatever lies beside the work.
if str(ROOT / "gpt2") not in sys.path:
    sys.path.append(str(ROOT / "gpt2"))


def two_layers(seed, *shape):
    """Two linear layers drawn by the seed, one after the other, and a tensor to give them.

    The work and the check both call it: what is right is computed where no line of the work runs.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return torch.nn.Sequential(*(torch.nn.Linear(3, 3) for _ in range(2))), torch.randn(shape)


def marked(layers):
    """The layers, marked as on two devices."""
    import torch
    from pipeline.partition import WithDevice

    pairs = enumerate(layers)
    return torch.nn.Sequential(*(WithDevice(layer, f"cpu:{number}") for number, layer in pairs))


def near(found, right, tolerance=1e-5):
    """Whether a tensor came back, of this shape and with these numbers; NaN is no number."""
    if getattr(found, "shape", None) != right.shape:
        return False
    return bool(((found - right).abs() <= tolerance).all())


def split_by_hand(modules):
    """A part for each layer: the check does not depend on the student's own `_split_module`."""
    import torch

    parts = torch.nn.ModuleList(torch.nn.Sequential(layer.module) for layer in modules)
    return parts, [layer.device for layer in modules]


def clock_by_hand(batches, parts):
    """The clock of the homework, for checks of other tasks than the clock's."""
    found = {}
    for i in range(batches):
        for j in range(parts):
            found.setdefault(i + j, []).append((i, j))
    return [found[k] for k in sorted(found)]
