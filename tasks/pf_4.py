"""PF-4: other types of numbers."""

from helpers.grade import Task

TASK = Task(
    id="PF-4",
    title="take a step in half precision with weights in float32",
    file="DP/ddp/precision.py",
    function="train_step",
    notebook="10",
    libraries=("torch._dynamo",),  # an optimizer needs it
    points=15,
    minutes=30,
    hints=(
        "Three parts, each under its mark. What runs in the half type, and what must not? Whose "
        "step() is called at the end?",
        "Only the model is called under torch.autocast, and only if dtype is in HALF. The output "
        "may be in the half type: convert it and the target to float32 before the loss. The scaler "
        "has scale(), step() and update().",
        "Forward: output of the model under autocast; mse_loss of output and target, both as "
        "float32 (float64 stays). Backward: of the loss that the scaler has scaled. Update: the "
        "scaler takes the optimizer's step, then updates itself. Return the loss, unscaled and "
        "detached.",
    ),
)
# What torch says to some mistakes; anything else that it says is an error of the work.
TORCH = (
    "must have the same dtype",
    "No inf checks were recorded",
    "step() has already been called",
    "but _scale",
    "unscale FP16 gradients",
)


class Descent:
    """SGD; torch's own takes seconds to import."""

    def __init__(self, parameters, rate):
        self.rate, self.param_groups = rate, [{"params": list(parameters)}]

    def zero_grad(self, set_to_none=True):
        for p in self.param_groups[0]["params"]:
            p.grad = None

    def step(self):
        for p in self.param_groups[0]["params"]:
            p.data -= self.rate * p.grad


def run(module, case):
    """Some steps: losses, weights, and what was computed in; calls of the scaler; marks.

    case: {"dtype", "weights": of a layer, "rate", "steps": a source and a target for each}.
    """
    import torch

    marks, mark, inside, calls = set(), torch.profiler.record_function, [], []

    def seen_mark(name, *args):
        marks.add(name)
        return mark(name, *args)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Linear(6, 6, dtype=case["weights"]["weight"].dtype)
            self.one.load_state_dict(case["weights"])

        def forward(self, source, target):
            y = torch.tanh(self.one(source))
            inside.append(str(y.dtype))
            return y

    class Scaler(torch.amp.GradScaler):
        def scale(self, outputs):
            calls.append("scale")
            return super().scale(outputs)

        def step(self, optimizer, *args, **flags):
            calls.append("step")
            return super().step(optimizer, *args, **flags)

        def update(self, new_scale=None):
            calls.append("update")
            return super().update(new_scale)

    module.record_function = torch.profiler.record_function = seen_mark
    net, losses = Net(), []
    optimizer = Descent(net.parameters(), case["rate"])
    scaler = Scaler("cpu", enabled=case["dtype"] == "float16")
    try:
        for x, y in case["steps"]:
            found = module.train_step(net, optimizer, scaler, x, y, x.dtype)
            is_tensor = isinstance(found, torch.Tensor)
            graph = is_tensor and found.requires_grad
            losses.append([found.item() if is_tensor else repr(found), graph])
    except (RuntimeError, AssertionError, ValueError) as error:
        if not any(words in str(error) for words in TORCH):
            raise
        return {"torch": str(error)}
    finally:
        torch.profiler.record_function = mark
    return {
        "losses": losses,
        "inside": sorted(set(inside)),
        "weights": {name: p.detach() for name, p in net.one.named_parameters()},
        "calls": calls if case["dtype"] == "float16" else [],
        "marks": sorted(marks),
    }
