"""PF-4: steps in half precision against the same steps without a scaler; rules for the rest."""

import torch

STEPS, RATE = 3, 0.1
SCALER = {
    "scale": "Small gradients become 0 in float16: let the scaler scale the loss",
    "step": "Gradients must be divided again: let the scaler take the optimizer's step",
    "update": "The factor never changes: call the scaler's update() after the step",
}
# What torch says to some mistakes, and what it means.
TORCH = {
    "must have the same dtype": "Half data meets float32 weights: call the model under autocast",
    "No inf checks were recorded": SCALER["step"],
    "step() has already been called": SCALER["update"],
    "but _scale": SCALER["scale"],
    "unscale FP16 gradients": "Are the weights a half type now? But they must stay torch.float32",
}


def cases(seed):
    """Of each type: a layer, and a source and a target for each step."""
    draw, found = torch.Generator().manual_seed(seed), []
    for dtype in ("float32", "float64", "bfloat16", "float16"):
        wide = torch.float64 if dtype == "float64" else torch.float32
        weights = {
            "weight": torch.randn(6, 6, generator=draw).to(wide) / 3,
            "bias": torch.randn(6, generator=draw).to(wide) / 3,
        }
        steps = torch.randn(STEPS, 2, 5, 3, 6, generator=draw).to(getattr(torch, dtype))
        found.append({"dtype": dtype, "weights": weights, "rate": RATE, "steps": list(steps)})
    return found


def name(case):
    return case["dtype"]


def plain(case):
    """Losses and weights of the same steps without a scaler: in float64 from the output."""
    weights = {n: w.clone().requires_grad_() for n, w in case["weights"].items()}
    losses, half = [], case["dtype"] in ("bfloat16", "float16")
    for source, target in case["steps"]:
        with torch.autocast("cpu", source.dtype, enabled=half):
            y = torch.tanh(torch.nn.functional.linear(source, **weights))
        loss = (y.double() - target.double()).square().mean()
        losses.append(loss.item())
        for w, gradient in zip(
            weights.values(), torch.autograd.grad(loss, list(weights.values())), strict=True
        ):
            w.data -= case["rate"] * gradient
    return losses, {n: w.detach() for n, w in weights.items()}


def explain(case, seen):
    """What is wrong with the steps, or None."""
    if "torch" in seen:
        why = next(why for words, why in TORCH.items() if words in seen["torch"])
        return f"torch says {seen['torch']!r}. {why}"
    right, weights = plain(case)
    for n, w in weights.items():
        if seen["weights"][n].dtype != w.dtype:
            return f"the weights are {seen['weights'][n].dtype}: they must stay {w.dtype}"
    for (loss, graph), expected in zip(seen["losses"], right, strict=True):
        if isinstance(loss, str):
            return f"the step gives {loss}, and must give the loss, a tensor"
        if graph:
            return "the loss that is given carries its graph: detach it, or memory fills"
        if not abs(loss - expected) <= 1e-4 * expected:  # so that NaN is wrong
            return wrong_loss(case, loss, expected)
    if seen["inside"] != [f"torch.{case['dtype']}"]:
        return (
            f"the model computes in {', '.join(seen['inside'])}: call it under torch.autocast in a "
            "half type, and only then"
        )
    for call, why in SCALER.items():
        if case["dtype"] == "float16" and seen["calls"].count(call) != STEPS:
            return why
    for n, w in weights.items():
        if not (seen["weights"][n] - w).abs().max() <= 2e-3 * w.abs().max():
            return f"after {STEPS} steps the weights are not those of plain SGD"
    missing = {"forward", "backward", "update"} - set(seen["marks"])
    if missing:
        where = ", ".join(sorted(missing))
        return f"the profiler does not see: {where}; mark it with record_function"
    return None


def wrong_loss(case, loss, expected):
    if loss > 100 * expected:
        return "the loss that is given is the scaled one: give it plain"
    if case["dtype"] in ("bfloat16", "float16") and abs(loss - expected) < 0.05 * expected:
        return (
            f"the loss is {loss:.6f}, and is {expected:.6f} in float32: make the output and the "
            "target wide before the loss"
        )
    return f"the loss is {loss:.6f}, and must be {expected:.6f}"
