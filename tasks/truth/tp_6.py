"""TP-6: a linear layer and its gradients, cut; and what comes out with other sums than these."""

import torch

from helpers.grade.verify import same

RANKS = 3
IN, OUT, ROWS = 6, 9, 4  # cut into three: no two sizes are the same
SUMS = ({"x.grad"}, {"y"})  # of what the ranks add up their terms, by dim


def cases(seed):
    """For both ways to cut: the whole weight, and each rank's x and gradient of y."""
    values = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randint(-9, 10, shape, generator=values).double()

    weight, x, grad = draw(OUT, IN), draw(ROWS, IN), draw(ROWS, OUT)
    return [
        {"dim": 0, "weight": weight, "x": [x] * RANKS, "grad": list(grad.chunk(RANKS, 1))},
        {"dim": 1, "weight": weight, "x": list(x.chunk(RANKS, 1)), "grad": [grad] * RANKS},
    ]


def truth(case, sums=SUMS, shared=False):
    """What each rank has. sums: by dim, which of y, y.grad and x.grad are added up."""
    weights = case["weight"].chunk(RANKS, case["dim"])

    def added(name, terms):
        return [sum(terms)] * RANKS if name in sums[case["dim"]] else terms

    ys = added("y", [x @ w.T for x, w in zip(case["x"], weights, strict=True)])
    grads = added("y.grad", case["grad"])
    back = added("x.grad", [grad @ w for grad, w in zip(grads, weights, strict=True)])
    found = []
    for rank, held in enumerate(weights):
        whole = case["weight"].clone()
        if shared:
            whole.chunk(RANKS, case["dim"])[rank].zero_()
        found.append({"weight": held, "y": ys[rank], "x.grad": back[rank], "whole": whole})
        found[-1]["weight.grad"] = grads[rank].T @ case["x"][rank]
    return found


MISTAKES = {
    "the gradient of x is this rank's own term alone: every rank uses the whole x, so the "
    "terms must be added up backward, which Copy does": {"sums": (set(), {"y"})},
    "the output is this rank's own term: the others are missing, add them up with Sum": {
        "sums": ({"x.grad"}, set())
    },
    "the outputs of the ranks are added up: each rank keeps its own outputs": {
        "sums": ({"x.grad", "y"}, {"y"})
    },
    "the gradient of weight is wrong, and y is right: Copy adds up the gradients of different "
    "outputs, so it belongs to x and not to y": {"sums": ({"y.grad"}, {"y"})},
    "the gradient of x is wrong, and y is right: each rank has inputs of its own, so no Copy "
    "must add up their gradients": {"sums": ({"x.grad"}, {"y", "x.grad"})},
    f"the gradient of weight is {RANKS} times too large: it is added up over ranks that all "
    "have the whole gradient already": {"sums": ({"x.grad"}, {"y", "y.grad"})},
    "the part shares its memory with the whole layer, which then stays alive and changes with it: "
    "clone() it": {"shared": True},
}


def name(case):
    return f"dim {case['dim']} (some {'inputs' if case['dim'] else 'outputs'})"


def explain(case, seen):
    """The causes before their effects: the weight, y, the gradients."""
    right = truth(case)
    for rank, (found, its) in enumerate(zip(seen, right, strict=True)):
        if sentence := explain_weight(case, rank, found, its):
            return sentence
    for rank, (found, its) in enumerate(zip(seen, right, strict=True)):
        if "error" in found or not same(its["y"], found["y"]):
            gave = found["error"] if "error" in found else f"of shape {tuple(found['y'].shape)}"
            return (
                f"rank {rank}: y is not x W^T: it is {gave}, and should have the shape "
                f"{tuple(its['y'].shape)}"
            )
    for rank, (found, its) in enumerate(zip(seen, right, strict=True)):
        for what in ("weight", "x"):
            if found[f"{what}.grad"] is None:
                return (
                    f"rank {rank}: no gradient comes to {what}: autograd must see every operation, "
                    "so use Copy and Sum"
                )
            if not same(its[f"{what}.grad"], found[f"{what}.grad"]):
                return (
                    f"rank {rank}: the gradient of {what} is wrong, and y is right: look at what "
                    "Copy and Sum do backward"
                )
    return None


def explain_weight(case, rank, found, right):
    if "held" in found:
        return (
            "self.weight must be an nn.Parameter, or no optimizer finds it; it is a "
            f"{found['held']}"
        )
    held, whole, dim = found["weight"], case["weight"], case["dim"]
    if same(right["weight"], held):
        return None
    if held.shape == whole.shape:
        return "self.weight is the whole weight: each rank keeps a part"
    if held.shape == whole.chunk(RANKS, 1 - dim)[rank].shape:
        return "self.weight is cut along the other dimension; torch keeps (out, in)"
    if same(whole.chunk(RANKS, dim)[0], held):
        return f"rank {rank}: self.weight is the part of rank 0: take the one of this rank"
    return f"rank {rank}: self.weight, of shape {tuple(held.shape)}, is not part {rank} of {RANKS}"
