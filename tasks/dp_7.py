"""DP-7: gather a unit's weights just in time, and free them."""

import sys

import torch

HINTS = (
    "A module computes twice in a step. Torch has a hook for the moment before its forward, one "
    "for the moment after it, and one for the moment before its backward. After backward none is "
    "needed: who knows when the last gradient of a unit is complete?",
    "For each module: gather in register_forward_pre_hook and register_full_backward_pre_hook "
    "unless shards.is_whole, and free in register_forward_hook if the unit has one module only. "
    "In complete(p): super().complete(p), and then unit.free() if self.missing[unit] is empty, "
    "with unit = self.unit_of[p].",
)
LESSON, MINUTES = "sharding", 45


def stand_in(log):
    """Return a class like `Shards` that sends nothing, and notes what it is asked for."""

    class Shards:
        made = 0

        def __init__(self, parameters, recorder=None, own_copy=False, group=None):
            self.parameters, self.number, self.is_whole = list(parameters), Shards.made, True
            self.mine = torch.nn.Parameter(torch.zeros(1))
            Shards.made += 1

        def average(self):
            log.append(("average", self.number))
            for p in self.parameters:
                p.grad = None

        def gather(self):
            log.append(("gather a unit that is whole" if self.is_whole else "gather", self.number))
            self.is_whole = True

        def free(self):
            self.is_whole = False

    return Shards


class Layer(torch.nn.Module):
    """tanh(x W), which calls `note` when it computes, forward and backward."""

    def __init__(self, weight, note):
        super().__init__()
        self.weight, self.note = weight, note

    def forward(self, x):
        self.note("forward")
        y = torch.tanh(x @ self.weight)
        y.register_hook(lambda gradient: self.note("backward"))
        return y


def observe(module, case):
    log, there = [], {}
    sys.modules["zero1"].Shards = stand_in(log)

    def whole():
        return ", ".join(str(n) for n, unit in enumerate(trainer.units) if unit.is_whole)

    def layer(number, weight):
        def note(what):
            key = f"unit {number} computes {what}"
            there[key + " again" * (key in there)] = whole()

        return Layer(weight, note)

    weights = [torch.nn.Parameter(weight.clone()) for weight in case["weights"]]
    units = [[layer(number, weight)] for number, weight in enumerate(weights)]
    net = torch.nn.Sequential(*(modules[0] for modules in units))
    if case["tied"]:
        units[0].append(layer(0, weights[0]))
        net.append(units[0][1])
    trainer = module.Zero3(units, lambda parts: None, None)
    net(case["x"].clone().requires_grad_()).square().mean().backward()  # or a hook warns
    asked = [[what for what, number in log if number == n] for n in range(len(units))]
    return {
        "whose weights are there, and not freed yet": there | {"backward is over": whole()},
        "average(), which super().complete(p) calls": [each.count("average") for each in asked],
        "gather() of a unit that is whole": sum("whole" in what for what, _ in log),
        "gather() more than once before each computation": [
            n for n, each in enumerate(asked) if each.count("gather") > 3 - len(units[n])
        ],
    }


def cases():
    units, width = (int(torch.randint(3, 6, ())) for _ in range(2))
    weights = [torch.randn(width, width) for _ in range(units)]
    case = {"weights": weights, "x": torch.randn(4, width)}
    tied = {"tied": True, "name": "the last layer shares the weights of the first"}
    return [case | {"tied": False}, case | tied]


SUPER = "super().complete(p)"
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
    (SUPER, "self.missing[self.unit_of[p]].discard(p)"): "no unit is averaged in backward: "
    f"ZeRO-2's complete() does it, once, so call {SUPER}",
    (SUPER, "pass"): "a gradient that is complete stays among those that are missing: call "
    f"{SUPER}",
}
