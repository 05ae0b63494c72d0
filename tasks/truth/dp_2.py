"""DP-2: the mean of the weights; and what comes out where something is missing."""

import torch

from helpers.grade.verify import same
from tasks.truth import _averaging

RANKS = 4
FROZEN = "frozen"  # wants no gradient, and is the same on every rank: averaged or not, both right
SPARE = "spare"  # is trained, but this step gave it no gradient


def cases(seed):
    """For each dtype, for each rank after its own step: name -> (weight, gradient or None)."""
    draw = torch.Generator().manual_seed(seed)
    a, b, c = torch.randint(2, 9, (3,), generator=draw).tolist()
    shapes = {"embedding": (c, a), "weight": (a, b), "scale": (), FROZEN: (b,), SPARE: (a,)}
    shapes |= {"bias": (b,), "head": (b, 2, c)}

    def some(name, dtype):
        return _averaging.some(shapes[name], dtype, draw)

    drawn = []
    for dtype in (torch.float32, torch.float64):
        frozen = some(FROZEN, dtype)
        drawn.append(
            [
                {
                    name: (
                        frozen if name == FROZEN else some(name, dtype),
                        None if name in (FROZEN, SPARE) else some(name, dtype),
                    )
                    for name in shapes
                }
                for _ in range(RANKS)
            ]
        )
    return drawn


def after(case, new):
    """What the ranks hold once new(rank, name, the weights of all ranks) is in each parameter."""
    return [
        {
            "weight": {name: new(rank, name, [r[name][0] for r in case]) for name in own},
            "gradient": {name: gradient for name, (_, gradient) in own.items()},
            "replaced": [],
        }
        for rank, own in enumerate(case)
    ]


def but(left, way):
    """The mean, but for one parameter that went another way."""
    return lambda rank, name, weights: (way if name == left else _averaging.mean)(
        rank, name, weights
    )


def truth(case):
    return after(case, _averaging.mean)


WAYS = _averaging.ways("weight", "the parameter p", RANKS)
WAYS |= {
    f"every rank has the weights of rank {source}: that is a broadcast, and what the others "
    "learned is lost; a mean needs an all_reduce": lambda rank, name, ts, source=source: ts[source]
    for source in range(RANKS)
}
WAYS |= {
    f"the parameter {SPARE!r} has no gradient in this step, and was left out: the weights are "
    "averaged, so do not look at p.grad": but(SPARE, lambda rank, name, ts: ts[rank]),
    f"the parameter {FROZEN!r} is the same on all ranks, so its mean is what it was, and it has "
    "changed: treat it like every other parameter, or leave it alone": (
        but(FROZEN, lambda rank, name, ts: sum(ts))
    ),
}
MISTAKES = {sentence: lambda case, way=way: after(case, way) for sentence, way in WAYS.items()}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    for before, now in zip(truth(case), seen, strict=True):
        if now["replaced"]:
            return (
                f"the parameter {now['replaced'][0]!r} was replaced by a new one: the optimizer "
                "still holds the old one and would train that, so write the mean into the old one"
            )
        if not same(before["gradient"], now["gradient"]):
            return (
                "the gradients have changed: this function averages weights, so it must write to "
                "the parameter p and leave p.grad alone"
            )
    own, right, found = map(_trained, (after(case, lambda r, n, ts: ts[r]), truth(case), seen))
    for sentence, mistake in MISTAKES.items():
        expected = _trained(mistake(case))
        if same(expected, found) and not same(expected, right):  # the frozen one was left alone
            return sentence
    if same(_in_order(truth(case)), _in_order(seen)):
        return (
            "the means are right, and stand in the wrong parameters: give the parts of the flat "
            "tensor back in the order in which they were joined"
        )
    return _averaging.why(own, found, "the parameter p")


def _trained(observed):
    return [{n: w for n, w in rank["weight"].items() if n != FROZEN} for rank in observed]


def _in_order(ranks):
    weights = [[w.flatten() for w in rank["weight"].values()] for rank in ranks]
    return [torch.cat(flat).sort().values for flat in weights]


def stopped(sentence):
    if "leaf" in sentence and "in-place" in sentence:
        return (
            "torch does not let a weight be written in place while it records gradients: write "
            f"under torch.no_grad(): {sentence}"
        )
