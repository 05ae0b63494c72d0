"""TP-6: write a linear layer that is cut among the ranks."""

from types import SimpleNamespace

import torch
import torch.distributed as dist

from helpers.parallel import copy_to_group, reduce_from_group

HINTS = (
    "Draw the weight, (out, in), for both ways to cut. Some outputs: every rank needs the whole "
    "x, and what must happen to the gradients of x backward? Some inputs: what does each rank's "
    "product miss forward?",
    "The weight: an nn.Parameter that holds a clone of this rank's part of "
    "whole.weight.detach().chunk(ranks, dim). Outputs: F.linear(Copy.apply(x), self.weight). "
    "Inputs: Sum.apply(F.linear(x, self.weight)).",
)
NAME = "dim {dim} ({what})"
LESSON, MINUTES, RANKS = "tensor_parallel", 20, 3
FUNCTIONS = ("PartLinear",)
IN, OUT, ROWS = 6, 9, 4  # cut into three: no two sizes are the same


def observe(module, case):
    # Whatever the operators of the work do: this task is about where they stand.
    module.Copy = SimpleNamespace(apply=copy_to_group)
    module.Sum = SimpleNamespace(apply=reduce_from_group)
    rank = dist.get_rank()
    whole = torch.nn.Linear(1, 1, bias=False)
    whole.weight = torch.nn.Parameter(case["weight"].clone())
    layer = module.PartLinear(whole, case["dim"], rank, dist.get_world_size())
    held = getattr(layer, "weight", None)
    if not isinstance(held, torch.nn.Parameter):
        its = type(held).__name__
        return f"self.weight must be an nn.Parameter, or no optimizer finds it; it is a {its}"
    x, grad = case["x"][rank].clone().requires_grad_(), case["grad"][rank]
    found = {"weight": held.detach().clone()}
    try:
        y = layer(x)
    except RuntimeError as error:  # the held part doesn't fit x
        return {**found, "y": str(error)}
    if y.shape == grad.shape and y.requires_grad:
        (y * grad).sum().backward()  # backward(grad) would import what takes seconds
    found |= {"y": y.detach(), "weight.grad": held.grad, "x.grad": x.grad}
    with torch.no_grad():
        held.zero_()
    return {**found, "whole": whole.weight.detach()}


def cases():
    def draw(*shape):
        return torch.randint(-9, 10, shape).double()

    ranks, weight, x, grad = RANKS, draw(OUT, IN), draw(ROWS, IN), draw(ROWS, OUT)
    return [
        {"dim": 0, "what": "some outputs", "weight": weight, "x": [x] * ranks,
         "grad": list(grad.chunk(ranks, 1))},
        {"dim": 1, "what": "some inputs", "weight": weight, "x": list(x.chunk(ranks, 1)),
         "grad": [grad] * ranks},
    ]  # fmt: skip


OUTPUTS, INPUTS = "F.linear(Copy.apply(x), self.weight)", "Sum.apply(F.linear(x, self.weight))"
PLAIN = "F.linear(x, self.weight)"
MUTANTS = {
    (".chunk(ranks, dim)[rank]", ""): "self.weight is the whole weight: each rank keeps a part",
    ("(ranks, dim)", "(ranks, 1 - dim)"): "self.weight is cut along the other dimension; torch "
    "keeps (out, in)",
    ("[rank]", "[0]"): "self.weight is the part of rank 0: take the one of this rank",
    # As in NVIDIA/Megatron-LM#7452: a norm's gradient isn't summed over its ranks.
    (OUTPUTS, PLAIN): "the gradient of x is this rank's own term alone: every rank uses the whole "
    "x, so the terms must be added up backward: go on with what Copy returns",
    (INPUTS, PLAIN): "the output is this rank's own term: the others are missing, add them up "
    "with Sum, and go on with what it returns",
    (OUTPUTS, f"Sum.apply({OUTPUTS})"): "the outputs of the ranks are added up: each rank keeps "
    "its own outputs",
    (OUTPUTS, f"Copy.apply({PLAIN})"): "the gradient of weight is wrong, and y is right: Copy "
    "adds up the gradients of different outputs, so it belongs to x and not to y",
    (INPUTS, f"Sum.apply({OUTPUTS})"): "the gradient of x is wrong, and y is right: each rank has "
    "inputs of its own, so no Copy must add up their gradients",
    (INPUTS, "F.linear(Sum.apply(x), self.weight)"): "Sum adds up the inputs: each rank "
    "multiplies its own, and what is added up are the products",
    (INPUTS, "F.linear(x, Sum.apply(self.weight))"): "Sum adds up the parts of the weight: each "
    "rank multiplies by its own, and what is added up are the products",
    # As in microsoft/ltp-megatron-lm#68: torch.distributed.nn.all_reduce adds up gradients too.
    (INPUTS, f"Copy.apply({INPUTS})"): f"the gradient of weight is {RANKS} times too large: "
    "it is added up over ranks that all have the whole gradient already",
    (".clone()", ""): "the part shares its memory with the whole layer, which then stays alive "
    "and changes with it: clone() it",
}
