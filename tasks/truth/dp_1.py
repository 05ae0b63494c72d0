"""DP-1: the mean of the gradients; and what comes out where something is missing."""

import torch

from helpers.grade.verify import same
from tasks.truth import _averaging

RANKS = 4


def cases(seed):
    """For each dtype, for each rank: name -> (weight, gradient); the frozen one has no gradient.

    In training the weights are alike on all ranks. Here they differ, so that a change shows.
    """
    draw = torch.Generator().manual_seed(seed)
    a, b, c = torch.randint(2, 9, (3,), generator=draw).tolist()
    shapes = {"embedding": (c, a), "weight": (a, b), "scale": (), "frozen": (b,), "bias": (b,)}
    shapes["head"] = (b, 2, c)

    return [
        [
            {
                name: (
                    _averaging.some(shape, dtype, draw),
                    None if name == "frozen" else _averaging.some(shape, dtype, draw),
                )
                for name, shape in shapes.items()
            }
            for _ in range(RANKS)
        ]
        for dtype in (torch.float32, torch.float64)
    ]


def after(case, new):
    """What the ranks hold once new(rank, name, the gradients of all ranks) is in p.grad."""
    return [
        {
            "weight": {name: weight for name, (weight, _) in own.items()},
            "gradient": {
                name: None if gradient is None else new(rank, name, [r[name][1] for r in case])
                for name, (_, gradient) in own.items()
            },
        }
        for rank, own in enumerate(case)
    ]


def truth(case):
    return after(case, _averaging.mean)


MISTAKES = {
    sentence: lambda case, way=way: after(case, way)
    for sentence, way in _averaging.ways("gradient", "p.grad", RANKS).items()
}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    if any(
        not same(after(case, _averaging.mean)[r]["weight"], seen[r]["weight"]) for r in range(RANKS)
    ):
        return (
            "the weights have changed: this function averages gradients, so it must write to "
            "p.grad and leave the parameter p itself alone"
        )
    own = [{name: gradient for name, (_, gradient) in rank.items()} for rank in case]
    return _averaging.why(own, [rank["gradient"] for rank in seen], "p.grad")


def stopped(sentence):
    if "NoneType" in sentence:
        return (
            "a parameter that takes no part in the training has p.grad None, and must be skipped: "
            f"{sentence}"
        )
