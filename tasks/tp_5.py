"""TP-5: a parallel linear layer in torch: which part, and which operator where."""

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="TP-5",
    title="write a linear layer that is cut among the ranks",
    file="TP/llama/intro_TP.py",
    function="PartLinear",
    notebook="11",
    points=20,
    minutes=30,
    hints=(
        "Draw the weight, (out, in), for both ways to cut. Some outputs: every rank needs the "
        "whole x, and what must happen to the gradients of x backward? Some inputs: what does "
        "each rank's product miss forward?",
        "dim is the dimension of the weight that is cut: whole.weight.detach().chunk(ranks, dim) "
        "gives the parts. Copy adds gradients up backward, Sum adds terms up forward. Both are "
        "used as Copy.apply(tensor).",
        "Outputs: F.linear(Copy.apply(x), self.weight). Inputs: Sum.apply(F.linear(x, "
        "self.weight)). The weight: nn.Parameter of this rank's chunk, and a clone of it.",
    ),
)

RANKS = 3
IN, OUT, ROWS = 6, 9, 4  # cut into three: no two sizes are the same
TOLERANCE = 1e-9


def whole_of(seed):
    """Weight, input and gradient of the output of the whole layer, by dim: whole numbers."""
    import torch

    values = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randint(-9, 10, shape, generator=values).double()

    return draw(OUT, IN), draw(ROWS, IN), draw(ROWS, OUT)


def part(tensor, dim, rank):
    return tensor.chunk(RANKS, dim)[rank]


def work(module, seed):
    """On every rank, beside the student's code: of both ways to cut the weight, y, the gradients
    of weight and x, and the whole layer after its part was filled with zeros."""
    import torch
    import torch.distributed as dist

    rank, found = dist.get_rank(), []
    for dim in (0, 1):
        weight, x, grad = whole_of(seed)
        whole = torch.nn.Linear(1, 1, bias=False)
        whole.weight = torch.nn.Parameter(weight.clone())
        layer = module.PartLinear(whole, dim, rank, RANKS)
        x, grad = (x, part(grad, 1, rank)) if dim == 0 else (part(x, 1, rank), grad)
        x = x.clone().requires_grad_()
        held = getattr(layer, "weight", None)
        if not isinstance(held, torch.nn.Parameter):
            found.append({"held": type(held).__name__})
            continue
        facts = {"weight": held.detach().clone(), "y": None}
        found.append(facts)
        if held.shape != part(weight, dim, rank).shape:
            continue
        y = layer(x)
        facts["y"] = y.detach()
        if y.shape == grad.shape and y.requires_grad:
            (y * grad).sum().backward()  # backward(grad) would import what takes seconds
        facts |= {"weight.grad": held.grad, "x.grad": x.grad}
        with torch.no_grad():
            held.zero_()
        facts["whole"] = whole.weight.detach().clone()
    return found


def verify(submission: Submission) -> None:
    """Compare with the whole layer. Raises Mistake or WorkFailed."""
    answers = submission.on_ranks(work, RANKS, submission.seed)
    for judge in (judge_weight, judge_output, judge_gradients):  # the causes before their effects
        for dim in (0, 1):
            for rank, found in enumerate(answers):
                where = f"dim {dim} (some {'outputs' if dim == 0 else 'inputs'}), rank {rank}"
                judge(where, dim, rank, whole_of(submission.seed), found[dim])


def judge_weight(where, dim, rank, whole, found):
    """Which part is held. Raises Mistake."""
    if "held" in found:
        raise Mistake(
            f"{where}: self.weight must be an nn.Parameter, or no optimizer finds it; it is a "
            f"{found['held']}"
        )
    weight, held = whole[0], found["weight"]
    right = part(weight, dim, rank)
    if close(held, right):
        return
    if held.shape == weight.shape:
        raise Mistake(f"{where}: self.weight is the whole weight: each rank keeps a part")
    if held.shape == part(weight, 1 - dim, rank).shape:
        raise Mistake(
            f"{where}: self.weight is cut along the other dimension; torch keeps (out, in)"
        )
    if rank and close(held, part(weight, dim, 0)):
        raise Mistake(f"{where}: self.weight is the part of rank 0: take the one of this rank")
    raise Mistake(f"{where}: self.weight, {told(held)}, is not part {rank} of {RANKS}")


def judge_output(where, dim, rank, whole, found):
    """What comes out. Raises Mistake."""
    weight, x, _ = whole
    y, gave = x @ weight.T, found["y"]
    right = part(y, 1, rank) if dim == 0 else y
    if close(gave, right):
        return
    known = {
        0: (
            "the outputs of the ranks are added up: each rank keeps its own outputs",
            sum(part(y, 1, r) for r in range(RANKS)),
        ),
        1: (
            "the output is this rank's own term: the others are missing, add them up with Sum",
            part(x, 1, rank) @ part(weight, 1, rank).T,
        ),
    }
    sentence, wrong = known[dim]
    if close(gave, wrong):
        raise Mistake(f"{where}: {sentence}")
    raise Mistake(
        f"{where}: y is not x W^T: it is {told(gave)}, and should have the shape "
        f"{tuple(right.shape)}"
    )


def judge_gradients(where, dim, rank, whole, found):
    """The gradients of the weight and of x, and the whole layer afterwards. Raises Mistake."""
    weight, x, grad = whole
    right_w = part(grad.T @ x, dim, rank)
    right_x = grad @ weight if dim == 0 else part(grad @ weight, 1, rank)
    for name, right in (("weight", right_w), ("x", right_x)):
        gave = found[f"{name}.grad"]
        if close(gave, right):
            continue
        if gave is None:
            raise Mistake(
                f"{where}: no gradient comes to {name}: autograd must see every operation, so use "
                "Copy and Sum"
            )
        own = part(grad, 1, rank) @ part(weight, 0, rank)
        if dim == 0 and name == "x" and close(gave, own):
            raise Mistake(
                f"{where}: the gradient of x is this rank's own term alone: every rank uses the "
                "whole x, so the terms must be added up backward, which Copy does"
            )
        if close(gave, RANKS * right):
            raise Mistake(
                f"{where}: the gradient of {name} is {RANKS} times too large: it is added up over "
                "ranks that all have the whole gradient already"
            )
        raise Mistake(
            f"{where}: the gradient of {name} is wrong, and y is right: look at what Copy and Sum "
            "do backward"
        )
    if not close(found["whole"], weight):
        raise Mistake(
            f"{where}: the part shares its memory with the whole layer, which then stays alive and "
            "changes with it: clone() it"
        )


def close(a, b):
    return a is not None and a.shape == b.shape and bool(((a - b).abs() <= TOLERANCE).all())


def told(tensor):
    return "nothing" if tensor is None else f"of shape {tuple(tensor.shape)}"
