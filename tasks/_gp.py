"""What the GPT-2 tasks share: the folder is an import root of its own."""

import sys

from helpers.grade.task import ROOT

# `pipeline`, `project` and `wrong_input` are the grader's own, whatever lies beside the work.
if str(ROOT / "gpt2") not in sys.path:
    sys.path.append(str(ROOT / "gpt2"))


def marked(weights):
    """Linear layers with these weights, each marked as on a device of its own."""
    import torch
    from pipeline.partition import WithDevice

    layers = []
    for number, given in enumerate(weights):
        layer = torch.nn.Linear(*given["weight"].shape[::-1])
        layer.load_state_dict(given)
        layers.append(WithDevice(layer, f"cpu:{number}"))
    return torch.nn.Sequential(*layers)


def split_by_hand(modules):
    """A part for each layer: the check does not depend on the student's own `_split_module`."""
    import torch

    parts = torch.nn.ModuleList(torch.nn.Sequential(layer.module) for layer in modules)
    return parts, [layer.device for layer in modules]


def plain_model(seed):
    """Return a small GPT-2 on one device, whose norms and biases are drawn too."""
    import torch
    from project.models import make_config, make_model

    model, draw = make_model(make_config("tiny", 50, 16)), torch.Generator().manual_seed(seed)
    for p in model.parameters():
        p.data += 0.05 * torch.randn(p.shape, generator=draw)
    return model
