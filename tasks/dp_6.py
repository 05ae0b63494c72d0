"""DP-6: the step of ZeRO-1."""

import torch

from helpers.grade import Task
from tasks import _shards

TASK = Task(
    title="take a step in which each rank updates its own part",
    file="DP/zero/zero1.py",
    function="Zero1.step",
    lesson="sharding",
    minutes=10,
    hints=(
        "Each unit of the model can average its gradients, so that this rank has its part, and can "
        "gather its weights from all ranks. Where does the optimizer's step belong?",
        "Every unit: average(). Then the optimizer, once: it knows the parts of all units. Then "
        "every unit: gather().",
        "One loop over self.units that averages each; then one call of the optimizer's step; then "
        "one more loop that gathers each.",
    ),
)


def observe(module, case):
    """Train on shards that send nothing: for each step, how often each unit was asked for what, and
    when; and the weights.

    case: the layers' weights and biases, the samples, the learning rate.
    """
    log, found = [], {}
    module.Shards = _shards.stand_in(log)
    net = torch.nn.Sequential(*_shards.layers_of(case, []))
    trainer = module.Zero1([[layer] for layer in net], lambda parts: _sgd(parts, case, log), None)
    for step, samples in enumerate(case["samples"]):
        log.clear()
        trainer.zero_grad()
        net(samples).square().mean().backward()
        trainer.step()
        calls = [event[:2] for event in log]
        first = calls.index(("update",)) if ("update",) in calls else len(calls)
        found[f"step {step}"] = {"updates": calls.count(("update",))} | {
            f"unit {n}": {
                "average() before the update": calls[:first].count(("average", n)),
                "gather() before the update": calls[:first].count(("gather", n)),
                "average() after the update": calls[first:].count(("average", n)),
                "gather() after the update": calls[first:].count(("gather", n)),
            }
            for n in range(len(net))
        }
    return found | {"weights": [p.detach().clone() for p in net.parameters()]}


def _sgd(parts, case, log):
    """Return an optimizer that writes down when it takes its step."""
    optimizer = torch.optim.SGD(parts, lr=case["lr"])
    optimizer.register_step_pre_hook(lambda *_: log.append(("update",)))
    return optimizer


def cases(seed):
    return [_shards.drawn(seed)]


STEP = """
for unit in self.units{averaged}:
    unit.average()
self.optimizer.step()
for unit in self.units{gathered}:
    unit.gather()
"""
MUTANTS = {
    ("unit.average()", "pass"): "no unit averages its gradients: call unit.average() for each",
    ("self.optimizer.step()", "pass"): "the weights don't change: the optimizer must take its step",
    ("unit.gather()", "pass"): "this rank has its own part updated, and the parts of the others "
    "are old: call unit.gather() for each unit",
    """
self.optimizer.step()
for unit in self.units:
    unit.average()
for unit in self.units:
    unit.gather()
""": "the optimizer takes its step before all gradients are averaged",
    """
for unit in self.units:
    unit.average()
for unit in self.units:
    unit.gather()
self.optimizer.step()
""": "weights are gathered before the optimizer has updated them",
    """
for unit in self.units:
    unit.average()
    self.optimizer.step()
    unit.gather()
""": "the optimizer is called in a loop over the units: it knows the parts of all units, so call "
    "it once a step",
    ("unit.average()", "unit.average()\nunit.average()"): "a unit is asked twice where once is "
    "enough",
}
for which, some in ("first", "[1:]"), ("last", "[:-1]"):
    for kind, call in ("averaged", "average"), ("gathered", "gather"):
        step = STEP.format(**{"averaged": "", "gathered": "", kind: some})
        MUTANTS[step] = f"the {which} unit is left out: it is never asked to {call}()"


def explain(case, seen):
    for step in range(len(case["samples"])):
        facts = seen[f"step {step}"]
        if facts["updates"] > 1:
            return (
                f"the optimizer updates {facts['updates']} times in step {step}: it knows the "
                "parts of all units, so call it once a step"
            )
    return None
