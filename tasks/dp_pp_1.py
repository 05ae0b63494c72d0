"""DP-PP-1: average the gradients of each stage over its copies in all pipelines."""

from functools import cache

import torch
import torch.distributed as dist

from helpers.grade import Task
from helpers.grid import Grid, make_groups
from tasks import _averaging

# Two pipelines of two stages, then four of one: a 2 that is written into the code shows.
LAYOUTS = ((2, 2), (4, 1))
TASK = Task(
    title="average the gradients within each stage",
    file="DP_PP/intro_DP_PP.py",
    function="average_gradients",
    lesson="dp_x_pp",
    minutes=10,
    ranks=4,
    hints=(
        "Two ranks hold the same stage, one in each pipeline; the others hold other layers, whose "
        "gradients mean something else. What does an all_reduce need, so that it goes over these "
        "two alone? And by how many must the sum be divided?",
        "Every collective of torch.distributed takes group=…; left out, it goes over all ranks. "
        "dist.get_world_size(group) is the number of ranks in the group.",
        "As in DP-1, with dist.all_reduce(p.grad, group=group) for each p of stage.parameters(), "
        "and then a division by dist.get_world_size(group), in place.",
    ),
)


def observe(module, case):
    """On every rank: call the work on this rank's stage; what stands in its parameters afterwards.

    case: (pipelines, stages of each), and for each rank {name: (weight, gradient)}.
    """
    layout, ranks = case
    stage = torch.nn.Module()
    for name, (weight, gradient) in ranks[dist.get_rank()].items():
        parameter = torch.nn.Parameter(weight.clone())
        parameter.grad = gradient.clone()
        stage.register_parameter(name, parameter)
    module.average_gradients(stage, columns()[layout])
    return _averaging.held(stage)


@cache
def columns():
    """All groups, made before any work runs: a rank that leaves early meets no new_group."""
    return {(dp, pp): make_groups(Grid(dp=dp, pp=pp)).dp for dp, pp in LAYOUTS}


def cases(seed):
    """For each layout and dtype, for each rank: name -> (weight, gradient).

    All stages have the same shapes, so that an average over the wrong ranks gives wrong numbers,
    and not a crash. In training the weights of copies are alike; here a change must show.
    """
    draw = torch.Generator().manual_seed(seed)
    a, b, c = torch.randint(2, 9, (3,), generator=draw).tolist()
    shapes = {"weight": (a, b), "scale": (), "bias": (b,), "head": (b, 2, c)}

    def of_a_rank(dtype):
        return {
            name: tuple(_averaging.some(shape, dtype, draw) for _ in range(2))
            for name, shape in shapes.items()
        }

    dtypes = (torch.float32, torch.float64)
    return [(at, [of_a_rank(d) for _ in range(TASK.ranks)]) for at in LAYOUTS for d in dtypes]


def name(case):
    (dp, pp), _ = case
    return f"{dp} pipelines of {pp} stage{'s' * (pp > 1)}"


REDUCE, DIVIDE = "dist.all_reduce(flat, group=group)", "flat /= dist.get_world_size(group)"
COPY, WORLD = "gradient.copy_(part.view_as(gradient))", "dist.get_world_size()"
MIXED = "all 4 ranks, and mixes gradients of different stages: give all_reduce group=group"
MUTANTS = {
    (DIVIDE, "pass"): "the gradients are the sum over the ranks of the group: divide by "
    "dist.get_world_size(group) after the all_reduce, in place (g = g / n names a new tensor, and "
    "changes no p.grad)",
    (COPY, "gradient = part"): "every rank still has its own gradients: the mean was never written "
    "back into p.grad (assigning to a loop variable changes no tensor; use copy_, or divide in "
    "place)",
    (REDUCE, "pass"): "every rank has its own gradients divided: nothing was communicated, the "
    "all_reduce is missing",
    ((REDUCE, "dist.all_reduce(flat)"), (DIVIDE, f"flat /= {WORLD}")): "the average goes over "
    f"{MIXED}",
    (REDUCE, "dist.all_reduce(flat)"): f"the sum goes over {MIXED}",
    ((REDUCE, "dist.all_reduce(flat)"), (DIVIDE, "pass")): "the sum goes over all 4 ranks, and is "
    "not divided: give all_reduce group=group, and divide by dist.get_world_size(group)",
    (DIVIDE, f"flat /= {WORLD}"): "the sum over the group is divided by 4: divide once, by "
    f"dist.get_world_size(group), not by {WORLD}",
    (DIVIDE, "flat /= 2"): "the sum over the group is divided by 2, as with the lesson's two "
    "pipelines: ask dist.get_world_size(group)",
    (DIVIDE, f"{DIVIDE} ** 2"): "the gradients are divided twice: divide once, by "
    "dist.get_world_size(group)",
    (COPY, f"dist.get_rank(group) or {COPY}"): "only the first rank of the group has the mean: "
    "each of the ranks that hold a stage needs it, in every pipeline, so take all_reduce on all of "
    "them",
    (COPY, f"{COPY}\nbreak"): "only the first parameter was averaged, the others were left as they "
    "were: look for a return or a break inside the loop",
    ("gradient.flatten() for", "gradient.flatten().float() for"): "float64 comes back with "
    "float32's accuracy: keep the dtype of p.grad",
}


def explain(case, seen):
    return _averaging.changed(case[1], seen, "weight")
