"""DP-6: the order of a step; the weights decide, and the order says why they are wrong."""

import torch

from helpers.grade.verify import same

STEPS = 2


def cases(seed):
    draw = torch.Generator().manual_seed(seed)
    units, width = (int(torch.randint(3, 6, (), generator=draw)) for _ in range(2))

    def some(*shape):
        return torch.randn(shape, generator=draw, dtype=torch.float64)

    layers = [(some(width, width), some(width)) for _ in range(units)]
    samples = [some(4, width) for _ in range(STEPS)]
    return [{"layers": layers, "samples": samples, "lr": 0.5, "tied": False}]


def right(case):
    """Return the weights after the same steps without shards."""
    flat = [tensor.clone().requires_grad_() for pair in case["layers"] for tensor in pair]
    for samples in case["samples"]:
        x, last = samples, len(flat) + (2 if case["tied"] else 0)
        for n in range(0, last, 2):
            weight, bias = flat[n % len(flat)], flat[n % len(flat) + 1]
            x = torch.tanh(x @ weight + bias)
        gradients = torch.autograd.grad(x.square().mean(), flat)
        with torch.no_grad():
            for tensor, gradient in zip(flat, gradients, strict=True):
                tensor -= case["lr"] * gradient
    return [tensor.detach() for tensor in flat]


def explain(case, seen):
    kinds = [kind for kind, _ in seen["order"]]
    units = len(case["layers"])
    if "average" not in kinds:
        return "no unit averages its gradients: call unit.average() for each"
    if "update" not in kinds:
        return "the weights don't change: the optimizer must take its step"
    if "gather" not in kinds:
        return (
            "this rank has its own part updated, and the parts of the others are old: call "
            "unit.gather() for each unit"
        )
    for kind in ("average", "gather"):
        left_out = set(range(units)) - {n for each, n in seen["order"] if each == kind}
        if left_out:
            return f"unit {min(left_out)} of {units} is left out: it is never asked to {kind}()"
    if kinds.count("update") != STEPS:
        return (
            f"the optimizer updates {kinds.count('update')} times in {STEPS} steps of training: it "
            "knows the parts of all units, so call it once a step"
        )
    step = [kind for kind, _ in seen["order"]][: len(seen["order"]) // STEPS]
    if "average" in step[step.index("update") :]:
        return "the optimizer takes its step before all gradients are averaged"
    if "gather" in step[: step.index("update")]:
        return "weights are gathered before the optimizer has updated them"
    if len(step) != 2 * units + 1:
        return f"a step asks its {units} units {len(step) - 1} times, where {2 * units} are enough"
    return None if same(right(case), seen["weights"]) else "the weights are not those of one device"
