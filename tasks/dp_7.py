"""DP-7: ZeRO-3's hooks: when a unit's weights are gathered, and when they are freed."""

import sys

import torch

from helpers.grade import Task
from tasks import _shards

TASK = Task(
    title="gather a unit's weights just in time, and free them",
    file="DP/zero/zero3.py",
    function="Zero3.add_hooks",
    also=("Zero3.complete",),
    lesson="sharding",
    kind="evidence",
    minutes=45,
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


def observe(module, case):
    """Train two steps on shards that send nothing: which units have their weights while one
    computes, and after backward; how often each was averaged and gathered; and the weights.

    case: the layers' weights and biases, whether the first shares them with the last, the samples,
    the learning rate.
    """
    log, found = [], {}
    sys.modules["zero1"].Shards = _shards.stand_in(log)

    def whole(_=None):
        return ", ".join(str(n) for n, unit in enumerate(trainer.units) if unit.is_whole)

    net = torch.nn.Sequential(*_shards.layers_of(case, log, whole))
    units = [[layer] for layer in net]
    if case["tied"]:
        units[0] += units.pop()
    trainer = module.Zero3(units, lambda parts: torch.optim.SGD(parts, lr=case["lr"]), None)
    for step, samples in enumerate(case["samples"]):
        trainer.zero_grad()
        log.clear()
        net(samples).square().mean().backward()
        there = {}
        for what, n, units_there in log:
            if what in ("forward", "backward"):
                key = f"unit {n} computes {what}"
                there[key + " again" * (key in there)] = units_there
        calls = [event[:2] for event in log]
        found[f"step {step}"] = {
            "whose weights are there, and not freed yet": there | {"backward is over": whole()},
            "average(), which super().complete(p) calls": [
                calls.count(("average", n)) for n in range(len(units))
            ],
            "gather() of a unit that is whole": sum(
                event[0] == "gather" and event[-1] for event in log
            ),
            "gather() more than once before each computation": [
                n
                for n, modules in enumerate(units)
                if calls.count(("gather", n)) > (2 if len(modules) == 1 else 1)
            ],
        }
        trainer.step()
    for unit in trainer.units:
        unit.gather()
    return found | {"weights": [p.detach().clone() for p in net.parameters()]}


def cases(seed):
    case = _shards.drawn(seed)
    return [case, case | {"tied": True}]


def name(case):
    return "the last layer shares the weights of the first" if case["tied"] else ""


SUPER = "call super().complete(p)"
MUTANTS = {
    ("module.register_forward_pre_hook(need)", "pass"): "a unit computes forward without its "
    "weights: gather before it",
    ("module.register_full_backward_pre_hook(need)", "pass"): "a unit computes backward without "
    "its weights: gather before it",
    ("module.register_forward_hook(lambda *_: shards.free())", "pass"): "a unit still has its "
    "weights while the next one computes: free after forward",
    ("unit.free()", "pass"): "a unit still has its weights after its backward: free when its "
    "gradients are complete",
    ("not shards.is_whole", "True"): "a unit is gathered although it is whole: ask shards.is_whole "
    "first",
    ("len(modules) == 1", "True"): "unit 0 has two modules and is freed between them: its weights "
    "stay from the first forward until its gradients are complete",
    ("super().complete(p)", "self.missing[self.unit_of[p]].discard(p)"): "no unit is averaged in "
    f"backward: ZeRO-2's complete() does it, once, so {SUPER}",
    ("super().complete(p)", "pass"): "a gradient that is complete stays among those that are "
    f"missing: {SUPER}",
}
