"""What every rank holds before and after an average: for each task that averages something."""

import torch
import torch.distributed as dist

from helpers.grade.verify import same

FROZEN = "frozen"  # takes no part in the training: its gradient is None


def some(shape, dtype, draw):
    """Numbers to average. A single one is at least 1: a mean that is nearly 0 is all rounding."""
    drawn = torch.randn(shape, generator=draw, dtype=torch.float64)
    return (drawn if drawn.ndim else 1 + drawn.abs()).to(dtype)


def gradients(seed, ranks):
    """For each dtype, for each rank: name -> (weight, gradient); the frozen one has no gradient.

    In training the weights are alike on all ranks. Here they differ, so that a change shows.
    """
    draw = torch.Generator().manual_seed(seed)
    a, b, c = torch.randint(2, 9, (3,), generator=draw).tolist()
    shapes = {"embedding": (c, a), "weight": (a, b), "scale": (), FROZEN: (b,), "bias": (b,)}
    shapes["head"] = (b, 2, c)

    def of_a_rank(dtype):
        return {
            name: (some(shape, dtype, draw), None if name == FROZEN else some(shape, dtype, draw))
            for name, shape in shapes.items()
        }

    return [[of_a_rank(dtype) for _ in range(ranks)] for dtype in (torch.float32, torch.float64)]


def model_of(case):
    """This rank's model. case: for each rank {name: (weight, gradient or None)}."""
    model = torch.nn.Module()
    for name, (weight, gradient) in case[dist.get_rank()].items():
        parameter = torch.nn.Parameter(weight.clone(), requires_grad=name != FROZEN)
        parameter.grad = None if gradient is None else gradient.clone()
        model.register_parameter(name, parameter)
    return model


def held(model):
    """What stands in the parameters of a model."""
    return {
        "weight": {name: p.detach() for name, p in model.named_parameters()},
        "gradient": {name: p.grad for name, p in model.named_parameters()},
    }


def gradients_held(model):
    """The same of a model whose gradients were averaged: zeros for the frozen one do no harm."""
    seen = held(model)
    frozen = seen["gradient"][FROZEN]
    if frozen is not None and not frozen.any():
        seen["gradient"][FROZEN] = None
    return seen


def changed(ranks, seen, what):
    """Say that the "weight", or the "gradient", has changed on a rank, and must stay; or None."""
    kinds, places = ("weight", "gradient"), ("p (or p.data)", "p.grad")
    at = kinds.index(what)
    other = 1 - at
    before = [{name: own[name][at] for name in own} for own in ranks]
    if not same(before, [one[what] for one in seen]):
        return (
            f"the {what}s have changed, and must stay: this function averages the {kinds[other]}s, "
            f"so it writes to {places[other]}, and leaves {places[at]} alone"
        )
    return None
