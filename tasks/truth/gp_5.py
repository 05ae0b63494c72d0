"""GP-5: what the layers make of micro-batches, all workers at once; and rules for the rest."""

import torch

from helpers.grade.verify import same
from tasks.truth._gp import clock, linear_layers, through


def cases(seed):
    """Two layers, some micro-batches, and the ticks of the clock."""
    draw = torch.Generator().manual_seed(seed)
    count = int(torch.randint(3, 6, (), generator=draw))
    return [
        {
            "layers": linear_layers(draw),
            "batches": list(torch.randn(count, 2, 3, generator=draw)),
            "ticks": clock(count, 2),
        }
    ]


def truth(case):
    return {
        "batches": [through(case["layers"], batch) for batch in case["batches"]],
        "together": [0, 1],
        "raised": "the error of the layer",
    }


def explain(case, seen):
    """The first of the three that is wrong."""
    right = truth(case)
    for i, (found, batch) in enumerate(zip(seen["batches"], case["batches"], strict=True)):
        if same(right["batches"][i], found):
            continue
        if same(through(case["layers"][:1], batch), found):
            return f"micro-batch {i} has gone through part 0 only"
        return (
            f"micro-batch {i} is not what the layers make of it: put each result into batches[i], "
            "and let each task keep its own i and j"
        )
    if seen["together"] != right["together"]:
        return (
            "the parts work one after the other: ask all workers of a tick first, then take the "
            "answers"
        )
    return (
        f"a layer raises KeyError in a worker, and out of compute comes {seen['raised']}: raise "
        "the worker's error where done is False"
    )
