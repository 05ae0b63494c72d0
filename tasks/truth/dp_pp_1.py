"""DP-PP-1: the mean of each stage over its copies; and the sums over other ranks."""

import torch

from helpers.grade.verify import same
from helpers.grid import Grid
from helpers.hang.operation import NEW_GROUP
from tasks import _averaging
from tasks.truth._averaging import why

RANKS = 4
# Two pipelines of two stages, then four of one: a 2 that is written into the code shows.
LAYOUTS = ((2, 2), (4, 1))


def cases(seed):
    """For each layout and dtype, for each rank: name -> (weight, gradient).

    All stages have the same shapes, so that an average over the wrong ranks gives wrong numbers,
    and not a crash. In training the weights of copies are alike; here a change must show.
    """
    draw = torch.Generator().manual_seed(seed)
    a, b, c = torch.randint(2, 9, (3,), generator=draw).tolist()
    shapes = {"weight": (a, b), "scale": (), "bias": (b,), "head": (b, 2, c)}

    def some(shape, dtype):
        return _averaging.some(shape, dtype, draw)

    return [
        (
            layout,
            [
                {n: (some(s, dtype), some(s, dtype)) for n, s in shapes.items()}
                for _ in range(RANKS)
            ],
        )
        for layout in LAYOUTS
        for dtype in (torch.float32, torch.float64)
    ]


def name(case):
    (dp, pp), _ = case
    return f"{dp} pipelines of {pp} stage{'s' * (pp > 1)}"


def group_of(case, rank):
    (dp, pp), _ = case
    return Grid(dp=dp, pp=pp).group(rank, "dp")


def truth(case, over=group_of, factor=lambda n: 1 / n):
    """What the ranks hold once each has factor(size of its group) * the sum `over` some ranks."""
    (dp, _), ranks = case
    return [
        {
            "weight": {name: weight for name, (weight, _) in own.items()},
            "gradient": {
                name: (sum(ranks[r][name][1].double() for r in over(case, rank)) * factor(dp)).to(
                    gradient.dtype
                )
                for name, (_, gradient) in own.items()
            },
        }
        for rank, own in enumerate(ranks)
    ]


def _own(case, rank):
    return (rank,)


def _everyone(case, rank):
    return range(RANKS)


_MIXED = f"all {RANKS} ranks, and mixes gradients of different stages: give all_reduce group=group"
MISTAKES = {
    "the gradients are the sum over the ranks of the group: divide by dist.get_world_size(group) "
    "after the all_reduce": {"factor": lambda n: 1},
    "every rank still has its own gradients: the mean was never written back into p.grad "
    "(assigning to a loop variable changes no tensor; use copy_, or divide in place)": {
        "over": _own,
        "factor": lambda n: 1,
    },
    "every rank has its own gradients divided: nothing was communicated, the all_reduce is "
    "missing": {"over": _own},
    f"the average goes over {_MIXED}": {"over": _everyone, "factor": lambda n: 1 / RANKS},
    f"the sum goes over {_MIXED}": {"over": _everyone},
    f"the sum goes over all {RANKS} ranks, and is not divided: give all_reduce group=group, and "
    "divide by dist.get_world_size(group)": {"over": _everyone, "factor": lambda n: 1},
    f"the sum over the group is divided by {RANKS}: divide once, by dist.get_world_size(group), "
    "not by dist.get_world_size()": {"factor": lambda n: 1 / RANKS},
    "the sum over the group is divided by 2, as with the lesson's two pipelines: ask "
    "dist.get_world_size(group)": {"factor": lambda n: 1 / 2},
    "the gradients are divided twice: divide once, by dist.get_world_size(group)": {
        "factor": lambda n: 1 / n**2
    },
}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    right, ranks = truth(case), range(RANKS)
    if any(not same(right[r]["weight"], seen[r]["weight"]) for r in ranks):
        return (
            "the weights have changed: this function averages gradients, so it must write to "
            "p.grad and leave the parameter p itself alone"
        )
    good = [r for r in ranks if same(right[r]["gradient"], seen[r]["gradient"])]
    if good:
        wrong = [r for r in ranks if r not in good]
        return (
            f"only {_listed(good)} the mean of the stage, and {_listed(wrong)} not: each of the "
            "ranks that hold a stage needs it, in every pipeline, so take all_reduce on all of them"
        )
    group = group_of(case, 0)
    before = [{name: gradient for name, (_, gradient) in case[1][r].items()} for r in group]
    return why(before, [seen[r]["gradient"] for r in group], "p.grad")


def stuck(waits):
    """The ranks that go on meet the others again where the next case makes its groups."""
    behind = sorted(rank for rank, operation, _ in waits if operation != NEW_GROUP)
    wait = "waits" if len(behind) == 1 else "wait"
    return 0 < len(behind) < len(waits) and (
        f"not every rank of a group takes part in its all_reduce: {_ranks(behind)} still {wait} in "
        "one, and the others have gone on; all that hold a stage must call it, for each parameter"
    )


def _listed(ranks):
    """[1] -> "rank 1 has"; [1, 2] -> "ranks 1 and 2 have"."""
    return f"{_ranks(ranks)} {'has' if len(ranks) == 1 else 'have'}"


def _ranks(ranks):
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
