"""GP-6: a batch through two layers, in micro-batches; and rules that say what went wrong."""

import torch

from helpers.grade.verify import same
from tasks.truth._gp import clock, linear_layers, through


def cases(seed):
    """A batch that the split size doesn't divide, and the clocks of all numbers of micro-batches.

    The check doesn't depend on the student's own `_clock_cycles`.
    """
    draw = torch.Generator().manual_seed(seed)
    split_size = int(torch.randint(3, 5, (), generator=draw))
    samples = 2 * split_size + int(torch.randint(1, split_size, (), generator=draw))
    return [
        {
            "layers": linear_layers(draw),
            "batch": torch.randn(samples, 3, generator=draw),
            "split_size": split_size,
            "clocks": {(n, k): clock(n, k) for n in range(1, samples + 1) for k in (1, 2, 3)},
        }
    ]


def truth(case):
    out = through(case["layers"], case["batch"])
    sizes = [len(piece) for piece in case["batch"].split(case["split_size"])]
    computed = [(j, sizes[i]) for tick in clock(len(sizes), 2) for i, j in tick]
    return {
        "batch": {"computed": computed, "out": out},
        "pair": {"computed": computed, "out": [out, None]},
    }


def explain(case, seen):
    """The first thing that is wrong."""
    right = truth(case)
    found, expected = seen["batch"], right["batch"]
    entered = [[size for part, size in one["computed"] if part == 0] for one in (found, expected)]
    if entered[0] != entered[1]:
        return (
            f"{len(case['batch'])} samples with a split size of {case['split_size']} enter as "
            f"micro-batches of {entered[0]}, and should as {entered[1]}: split_size is the number "
            "of samples in one"
        )
    if not same(expected["out"].shape, getattr(found["out"], "shape", None)):
        shapes = tuple(getattr(found["out"], "shape", ())), tuple(expected["out"].shape)
        return "out comes {}, and {} should: join all micro-batches".format(*shapes)
    if len(found["computed"]) < len(expected["computed"]):
        return "not every micro-batch goes through every part: is it each tick?"
    if not same(expected["out"], found["out"]):
        return "the samples are not what the layers make of them, in the order they came in"
    return "a batch that is a tuple comes out otherwise: use split and join"
