"""For the tasks that average something over ranks: inputs, what is held, and the usual slips.

What right work holds is a mean of the inputs, and what a slip leads to is a formula, too: so
`explain` tells it without running it.
"""

import torch
import torch.distributed as dist

from helpers.check.compare import differences, same

FROZEN = "frozen"  # takes no part in the training: its gradient is None


def some(shape, dtype):
    """Numbers to average. A single one is at least 1: a mean that is nearly 0 is all rounding."""
    drawn = torch.randn(shape, dtype=torch.float64)
    return (drawn if drawn.ndim else 1 + drawn.abs()).to(dtype)


def drawn(ranks, more=()):
    """For each dtype, for each rank: name -> (weight, gradient; None for the frozen and for more).

    In training the weights are alike on all ranks. Here only the frozen one is, so that a change
    shows.
    """
    a, b, c = torch.randint(2, 9, (3,)).tolist()
    shapes = {"embedding": (c, a), "weight": (a, b), "scale": (), FROZEN: (b,)}
    shapes |= dict.fromkeys(more, (a,)) | {"bias": (b,), "head": (b, 2, c)}

    def pair(name, dtype, frozen):
        weight = frozen if name == FROZEN else some(shapes[name], dtype)
        return weight, None if name in (FROZEN, *more) else some(shapes[name], dtype)

    found = []
    for dtype in (torch.float32, torch.float64):
        frozen = some((b,), dtype)
        found.append([{n: pair(n, dtype, frozen) for n in shapes} for _ in range(ranks)])
    return found


def model_of(case):
    """This rank's model. case: for each rank {name: (weight, gradient or None)}."""
    model = torch.nn.Module()
    for name, (weight, gradient) in case[dist.get_rank()].items():
        parameter = torch.nn.Parameter(weight.clone(), requires_grad=name != FROZEN)
        parameter.grad = None if gradient is None else gradient.clone()
        model.register_parameter(name, parameter)
    return model


def held(model):
    return {
        "weight": {name: p.detach() for name, p in model.named_parameters()},
        "gradient": {name: p.grad for name, p in model.named_parameters()},
    }


def slips(kind, groups, by):
    """Yield (sentence, of whom a rank has combined the tensors, how, by what it was divided)."""
    ranks, size = len(groups), len(groups[0])
    own, all_ = [[rank] for rank in range(ranks)], [range(ranks)] * ranks
    letter, place = ("w", "p") if kind == "weight" else ("g", "p.grad")
    yield (f"the {kind}s are the sum over the ranks: divide by {by} after the all_reduce, in place "
           f"({letter} = {letter} / n names a new tensor, and changes no {place})",
           groups, torch.sum, 1)  # fmt: skip
    yield (f"every rank still has its own {kind}s: the mean was never written back into {place} "
           "(assigning to a loop variable changes no tensor; use copy_, or divide in place)",
           own, torch.sum, 1)  # fmt: skip
    yield (f"every rank has its own {kind}s divided by {by}: nothing was communicated, the "
           "all_reduce is missing", own, torch.sum, size)  # fmt: skip
    yield f"the {kind}s are divided twice: do it once, by {by}", groups, torch.sum, size**2
    if size < ranks:
        over = f"goes over all {ranks} ranks, and mixes different stages: give it group=group"
        yield f"the average {over}", all_, torch.sum, ranks
        yield f"the sum {over}", all_, torch.sum, size
        yield f"the sum {over}, and divide by {by}", all_, torch.sum, 1
    for k in {2, 3, 4, 8} - {size}:
        yield f"the {kind}s are divided by {k}, where {by} is {size}", groups, torch.sum, k
    for op, how in {"MAX": torch.amax, "MIN": torch.amin, "PRODUCT": torch.prod}.items():
        yield f"all_reduce took ReduceOp.{op}: a mean needs ReduceOp.SUM", groups, how, 1
        yield (f"all_reduce took ReduceOp.{op}, then a division: a mean needs ReduceOp.SUM",
               groups, how, size)  # fmt: skip
    for rank in range(ranks):
        yield (f"every rank has the {kind}s of rank {rank}: that is a broadcast, and what the "
               "others learned is lost; a mean needs an all_reduce",
               [[rank]] * ranks, torch.sum, 1)  # fmt: skip


def explain(case, seen, kind, groups=None, by="world_size"):
    """Say which of the usual slips the numbers of all ranks show, and where; None if none.

    case: for each rank {name: (weight, gradient)} before. kind: of the two, what is averaged.
    groups: for each rank, over whom; all of them unless told.
    """
    other = "weight" if kind == "gradient" else "gradient"
    if not same([{name: both[other == "gradient"] for name, both in rank.items()} for rank in case],
                [one[other] for one in seen]):  # fmt: skip
        to, from_ = ("p (or p.data)", "p.grad")[:: 1 if kind == "weight" else -1]
        return (
            f"the {other}s have changed, and must stay: this function averages the {kind}s, so it "
            f"writes to {to}, and leaves {from_} alone"
        )
    groups = groups or [range(len(case))] * len(case)
    names = [name for name in case[0] if name != FROZEN]
    before = {name: [rank[name][kind == "gradient"] for rank in case] for name in names}

    def wrong(name, of, how, divisor, tolerance=1e-4):
        """Where the ranks hold something else than this slip leads to."""
        for rank, one in enumerate(seen):
            right = how(torch.stack([before[name][member] for member in of[rank]]), 0) / divisor
            place = (f"rank {rank}", kind, name)
            yield from differences(right, one[kind][name], tolerance, place)

    def shown(*slip):
        return [name for name in names if not any(wrong(name, *slip))]

    mean = (groups, torch.sum, len(groups[0]))
    done, left = shown(*mean), shown([[rank] for rank in range(len(case))], torch.sum, 1)
    said = None
    if done == names:
        said = "float64 comes back with float32's accuracy: keep the dtype"
    if done and left and done + left == names:
        said = (
            "the averaging stops at the first parameter whose p.grad is None: go on with the next"
        )
        if len(done) == 1:
            said = "only the first parameter was averaged: is there a return or break in the loop?"
    for sentence, *slip in slips(kind, groups, by):
        if not said and not any(place for name in names for place in wrong(name, *slip)):
            said = sentence
    place = next((place for name in names for place in wrong(name, *mean, None)), "")
    return f"{said} ({place})" if said and place else None  # else it isn't the mean that is wrong
