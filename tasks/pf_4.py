"""PF-4: other types of numbers."""

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="PF-4",
    title="take a step in half precision with weights in float32",
    file="DP/ddp/precision.py",
    function="train_step",
    notebook="13",
    libraries=("torch._dynamo",),  # an optimizer needs it
    points=15,
    minutes=30,
    hints=(
        "Three parts, each under its mark. What runs in the half type, and what must not? Whose "
        "step() is called at the end?",
        "Only the model is called under torch.autocast, and only if dtype is in HALF. The output "
        "may be a half: make it and the target wide before the loss. The scaler has scale(), "
        "step() and update().",
        "Forward: output of the model under autocast; mse_loss of output and target, both as "
        "float32 (float64 stays). Backward: of the loss that the scaler has scaled. Update: the "
        "scaler takes the optimizer's step, then updates itself. Give the loss, not the scaled "
        "one, without its graph.",
    ),
)
TYPES = ("float32", "float64", "bfloat16", "float16")
STEPS, RATE = 3, 0.1
SCALE = "Small gradients become 0 in float16: let the scaler scale the loss"
STEP = "Gradients must be divided again: let the scaler take the optimizer's step"
UPDATE = "The factor never changes: call the scaler's update() after the step"
# What torch says to some mistakes, and what it means.
TORCH = {
    "must have the same dtype": "Half data meets float32 weights: call the model under autocast",
    "No inf checks were recorded": STEP,
    "step() has already been called": UPDATE,
    "but _scale": SCALE,
    "unscale FP16 gradients": "Are the weights a half type now? But they must stay torch.float32",
}


def start(name, seed):
    """Of a type: a layer, and a source and a target for each step, drawn by the seed."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer, data = torch.nn.Linear(6, 6), torch.randn(STEPS, 2, 5, 3, 6)
    layer = layer.double() if name == "float64" else layer
    return layer, data.to(getattr(torch, name))


class Descent:
    """SGD; torch's own takes seconds to import."""

    def __init__(self, parameters):
        self.param_groups = [{"params": list(parameters)}]

    def zero_grad(self):
        for p in self.param_groups[0]["params"]:
            p.grad = None

    def step(self):
        for p in self.param_groups[0]["params"]:
            p.data -= RATE * p.grad


def truth(name, seed):
    """Losses and weights of the same steps without a scaler: in float64 from the output."""
    import torch

    (layer, data), losses = start(name, seed), []
    optimizer = Descent(layer.parameters())
    for source, target in data:
        with torch.autocast("cpu", data.dtype, enabled=data.dtype.itemsize == 2):
            y = torch.tanh(layer(source))
        loss = (y.double() - target.double()).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, [p.detach().double() for p in layer.parameters()]


def work(module, seed):
    """Of each type: losses, what the model computed in, weights, calls of the scaler, marks.

    The calls, marks and types in between can only be seen here; the numbers are judged outside.
    """
    import torch

    marks, mark = set(), torch.profiler.record_function

    def seen_mark(name, *args):
        marks.add(name)
        return mark(name, *args)

    module.record_function = torch.profiler.record_function = seen_mark

    class Net(torch.nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.one, self.seen = layer, []

        def forward(self, source, target):
            y = torch.tanh(self.one(source))
            self.seen.append(str(y.dtype))
            return y

    class Scaler(torch.amp.GradScaler):
        def __init__(self, **flags):
            super().__init__("cpu", **flags)
            self.calls = []

        def scale(self, outputs):
            self.calls.append("scale")
            return super().scale(outputs)

        def step(self, optimizer, *args, **flags):
            self.calls.append("step")
            return super().step(optimizer, *args, **flags)

        def update(self, new_scale=None):
            self.calls.append("update")
            return super().update(new_scale)

    answers = {}
    for name in TYPES:
        layer, data = start(name, seed)
        net, optimizer = Net(layer), Descent(layer.parameters())
        scaler, losses = Scaler(enabled=name == "float16"), []
        for x, y in data:
            try:
                found = module.train_step(net, optimizer, scaler, x, y, data.dtype)
            except (RuntimeError, AssertionError, ValueError) as error:
                sentence = next((why for words, why in TORCH.items() if words in str(error)), None)
                if sentence is None:
                    raise
                return f"{name}: torch says {str(error)!r}. {sentence}"
            is_tensor = isinstance(found, torch.Tensor)
            value = found.item() if is_tensor else repr(found)
            losses.append((value, is_tensor and found.requires_grad))
        weights = [(p.detach().double(), str(p.dtype)) for p in net.parameters()]
        answers[name] = losses, net.seen, weights, scaler.calls, sorted(marks)
    torch.profiler.record_function = mark
    return answers


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    (answers,) = submission.on_ranks(work, 1, submission.seed)
    if isinstance(answers, str):
        raise Mistake(answers)
    for name in TYPES:
        judge(name, truth(name, submission.seed), *answers[name])


def judge(name, right, losses, seen, weights, calls, marks):
    """Of one type. right: losses and weights. Raises Mistake."""
    wide = "torch.float64" if name == "float64" else "torch.float32"
    if any(dtype != wide for _, dtype in weights):
        raise Mistake(f"{name}: the weights are {weights[0][1]}: they must stay {wide}")
    for (loss, graph), expected in zip(losses, right[0], strict=True):
        if isinstance(loss, str):
            raise Mistake(f"the step gives {loss}, and must give the loss, a tensor")
        if graph:
            raise Mistake("the loss that is given carries its graph: detach it, or memory fills")
        if not abs(loss - expected) <= 1e-4 * expected:  # so that NaN is wrong
            if loss > 100 * expected:
                raise Mistake(f"{name}: the loss that is given is the scaled one: give it plain")
            if name in TYPES[2:] and abs(loss - expected) < 0.05 * expected:
                raise Mistake(
                    f"{name}: the loss is {loss:.6f}, and is {expected:.6f} in float32: make the "
                    "output and the target wide before the loss"
                )
            raise Mistake(f"{name}: the loss is {loss:.6f}, and must be {expected:.6f}")
    inside = f"torch.{name}"
    if set(seen) != {inside}:
        raise Mistake(
            f"{name}: the model computes in {', '.join(sorted(set(seen)))}: call it under "
            "torch.autocast in a half type, and only then"
        )
    if name == "float16":
        for call, why in (("scale", SCALE), ("step", STEP), ("update", UPDATE)):
            if calls.count(call) != STEPS:
                raise Mistake(f"float16: {why}")
    for (found, _), expected in zip(weights, right[1], strict=True):
        if not (found - expected).abs().max() <= 2e-3 * expected.abs().max():
            raise Mistake(f"{name}: after {STEPS} steps the weights are not those of plain SGD")
    missing = {"forward", "backward", "update"} - set(marks)
    if missing:
        where = ", ".join(sorted(missing))
        raise Mistake(f"the profiler does not see: {where}; mark it with record_function")
