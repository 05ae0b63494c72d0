"""PF-4: take a step in half precision with weights in float32."""

import torch

HINTS = (
    "Three parts, each under its mark. What runs in the half type, and what must not? Whose "
    "step() is called at the end?",
    "Forward: output of the model under torch.autocast, which is on if dtype is in HALF; mse_loss "
    "of output and target, both as float32 (float64 stays). Backward: of the loss that the scaler "
    "has scaled. Update: the scaler takes the optimizer's step, then updates itself. Return the "
    "loss, unscaled and detached.",
)
NAME = "{dtype}"
LESSON, MINUTES = "where_time_goes", 30
PAGE = "DP/ddp/README.md"
# What torch says to some mistakes; anything else that it says is an error of the work.
TORCH = ("must have the same dtype", "No inf checks were recorded", "unscale FP16 gradients")
TORCH += ("step() has already been called", "but _scale")
PARTS = ("forward", "backward", "update")


class Net(torch.nn.Linear):
    """tanh(x W + b), which notes in what it computes."""

    inside = ""

    def forward(self, source, target):
        y = torch.tanh(super().forward(source))
        self.inside = str(y.dtype)
        return y


def observe(module, case):
    marks, mark, calls, losses, graphs = set(), torch.profiler.record_function, set(), [], set()

    def noting(scaler, name):
        real = getattr(scaler, name)
        return lambda *args, **flags: (calls.add(name), real(*args, **flags))[1]

    def marking(name, *args):
        marks.add(name)
        return mark(name, *args)

    module.record_function = torch.profiler.record_function = marking
    net = Net(6, 6, dtype=case["weights"]["weight"].dtype)
    net.load_state_dict(case["weights"])
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    scaler = torch.amp.GradScaler("cpu", enabled=case["dtype"] == "float16")
    for name in ("scale", "step", "update"):
        setattr(scaler, name, noting(scaler, name))
    try:
        for x, y in case["steps"]:
            found = module.train_step(net, optimizer, scaler, x, y, x.dtype)
            kind = type(found).__name__
            losses.append(found.item() if kind == "Tensor" else f"a {kind}, which is no tensor")
            graphs.add(kind == "Tensor" and found.requires_grad)
    except (RuntimeError, AssertionError, ValueError) as error:
        if not any(words in str(error) for words in TORCH):
            raise
        return f"torch says {str(error)!r}"
    finally:
        torch.profiler.record_function = mark
    return {
        "losses": losses,
        "losses with a graph": True in graphs,
        "the model computes in": net.inside,
        "calls of the scaler": sorted(calls) if case["dtype"] == "float16" else [],
        "weights": {name: p.detach() for name, p in net.named_parameters()},
        "marks": [name for name in PARTS if name in marks],
    }


TOLERANCE = 1e-4  # right ways may round differently in float16
STEPS, RATE = 3, 0.1


def cases():
    found = []
    for dtype in ("float32", "float64", "bfloat16", "float16"):
        wide = torch.float64 if dtype == "float64" else torch.float32
        weights = {
            name: torch.randn(shape).to(wide) / 3
            for name, shape in {"weight": (6, 6), "bias": (6,)}.items()
        }
        steps = torch.randn(STEPS, 2, 5, 3, 6).to(getattr(torch, dtype))
        found.append({"dtype": dtype, "weights": weights, "steps": list(steps)})
    return found


SCALED, STEP, UPDATE = "scaler.scale(loss)", "scaler.step(optimizer)", "scaler.update()"
MUTANTS = {
    ("enabled=dtype in HALF", "enabled=False"): "half data meets float32 weights: call the model "
    "under autocast",
    ("torch.promote_types(output.dtype, torch.float32)", "output.dtype"): "make the output and the "
    "target wide before the loss: a half type has three digits",
    (SCALED, "loss"): "small gradients become 0 in float16: let the scaler scale the loss",
    (STEP, "optimizer.step()"): "gradients must be divided again: let the scaler take the "
    "optimizer's step",
    ((SCALED, "loss"), (STEP, "optimizer.step()"), (UPDATE, "pass")): "small gradients become 0 in "
    "float16: the scaler has no part in this; it must scale the loss, and take the optimizer's "
    "step",
    (UPDATE, "pass"): "the factor never changes: call the scaler's update() after the step",
    ((STEP, "pass"), (UPDATE, "pass")): "no step is made, and so no weight changes: let the scaler "
    "take the optimizer's",
    (".detach()", ""): "the loss that is returned carries its graph: detach it, or memory fills",
    ("loss.detach()", f"{SCALED}.detach()"): "the loss that is returned is the scaled one: return "
    "it plain",
    ("loss.detach()", "loss.item()"): "return the loss as a tensor, detached, not as a number: "
    "item() makes a GPU wait",
    ("target.to(wide))", "target.to(wide), reduction='sum')"): "these are sums of squares: the "
    "loss is their mean",
}


def explain(case, seen):
    if isinstance(seen, str):
        return f"{seen}: are the weights a half type now?" if "FP16" in seen else None
    for name, right in case["weights"].items():
        if (found := seen["weights"][name].dtype) != right.dtype:
            return f"the weights are {found}: they must stay {right.dtype}"
    if missing := [part for part in PARTS if part not in seen["marks"]]:
        return f"the profiler does not see: {', '.join(missing)}; mark it with record_function"
