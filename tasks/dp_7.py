"""DP-7: ZeRO-3's hooks: when a unit's weights are gathered, and when they are freed."""

from helpers.grade import Task
from tasks._shards import layers_of, stand_in

TASK = Task(
    id="DP-7",
    title="gather a unit's weights just in time, and free them",
    file="DP/zero/zero3.py",
    function="Zero3.add_hooks",
    also=("Zero3.complete",),
    notebook="11",
    points=25,
    minutes=45,
    libraries=("torch._dynamo",),  # an optimizer needs it
    hints=(
        "A module computes twice in a step. Torch has a hook for the moment before its forward, "
        "one for the moment after it, and one for the moment before its backward. After backward "
        "none is needed: who knows when the last gradient of a unit is complete?",
        "register_forward_pre_hook, register_forward_hook and register_full_backward_pre_hook, "
        "whose functions take any arguments (*_). complete(p) of ZeRO-2 removes p from "
        "self.missing[unit]; when that is empty, the gradients have been averaged.",
        "For each module: gather in both pre-hooks unless shards.is_whole, and free in the forward "
        "hook if the unit has one module only. In complete(p): super().complete(p), and then "
        "unit.free() if self.missing[unit] is empty, with unit = self.unit_of[p].",
    ),
)


def run(module, case):
    """Train two steps on shards that send nothing: what happened in which order, and the weights.

    case: the layers' weights and biases, whether the first shares them with the last, the samples,
    the learning rate.
    """
    import sys

    import torch

    log = []
    sys.modules["zero1"].Shards = stand_in(log)
    trainer = None
    net = torch.nn.Sequential(*layers_of(case, log, lambda n: trainer.units[n].is_whole))
    units = [[layer] for layer in net]
    if case["tied"]:
        units[0] += units.pop()
    trainer = module.Zero3(units, lambda parts: torch.optim.SGD(parts, lr=case["lr"]), None)
    for samples in case["samples"]:
        trainer.zero_grad()
        net(samples).square().mean().backward()
        log.append(("end of backward", None))
        trainer.step()
    for unit in trainer.units:
        unit.gather()
    return {"log": log, "weights": [p.detach() for p in net.parameters()]}
