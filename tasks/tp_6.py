"""TP-6: a parallel linear layer in torch: which part, and which operator where."""

from types import SimpleNamespace

from helpers.grade import Task

TASK = Task(
    id="TP-6",
    title="write a linear layer that is cut among the ranks",
    file="TP/llama/intro_TP.py",
    function="PartLinear",
    notebook="12",
    points=15,
    minutes=20,
    ranks=3,
    hints=(
        "Draw the weight, (out, in), for both ways to cut. Some outputs: every rank needs the "
        "whole x, and what must happen to the gradients of x backward? Some inputs: what does "
        "each rank's product miss forward?",
        "dim is the dimension of the weight that is cut: whole.weight.detach().chunk(ranks, dim) "
        "gives the parts. Copy adds gradients up backward, Sum adds terms up forward. Both are "
        "used as Copy.apply(tensor).",
        "Outputs: F.linear(Copy.apply(x), self.weight). Inputs: Sum.apply(F.linear(x, "
        "self.weight)). The weight: an nn.Parameter that holds a clone of this rank's chunk.",
    ),
)


def run(module, case):
    """On every rank: the part that is held, y, the gradients of weight and x, and the whole layer
    after its part was filled with zeros.

    case: dim; the whole weight; for each rank x and the gradient of y.
    """
    import torch
    import torch.distributed as dist

    from helpers.parallel import copy_to_group, reduce_from_group

    # Whatever the operators of the work do: this task is about where they stand.
    module.Copy = SimpleNamespace(apply=copy_to_group)
    module.Sum = SimpleNamespace(apply=reduce_from_group)
    rank = dist.get_rank()
    whole = torch.nn.Linear(1, 1, bias=False)
    whole.weight = torch.nn.Parameter(case["weight"].clone())
    layer = module.PartLinear(whole, case["dim"], rank, dist.get_world_size())
    held = getattr(layer, "weight", None)
    if not isinstance(held, torch.nn.Parameter):
        return {"held": type(held).__name__}
    x, grad = case["x"][rank].clone().requires_grad_(), case["grad"][rank]
    found = {"weight": held.detach().clone()}
    try:
        y = layer(x)
    except RuntimeError as error:  # the held part doesn't fit x
        return {**found, "error": str(error)}
    if y.shape == grad.shape and y.requires_grad:
        (y * grad).sum().backward()  # backward(grad) would import what takes seconds
    found |= {"y": y.detach(), "weight.grad": held.grad, "x.grad": x.grad}
    with torch.no_grad():
        held.zero_()
    return {**found, "whole": whole.weight.detach()}
