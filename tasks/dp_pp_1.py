"""DP-PP-1: average the gradients within each stage."""

from functools import cache

from helpers.grid import Grid, make_groups
from tasks import _averaging

# Two pipelines of two stages, then four of one: a 2 that is written into the code shows.
LAYOUTS = ((2, 2), (4, 1))
SIZE = "dist.get_world_size(group)"
HINTS = (
    "Two ranks hold the same stage, one in each pipeline; the gradients of the others mean "
    "something else. What does an all_reduce need, so that it goes over these two alone? And "
    "by how many must the sum be divided?",
    "As in DP-1, with dist.all_reduce(p.grad, group=group) for each p of stage.parameters(), "
    f"and then a division by {SIZE}, in place.",
)
NAME = "{0[0]} x {0[1]} (pipelines x stages)"
LESSON, MINUTES, RANKS = "dp_x_pp", 10, 4


def observe(module, case):
    layout, ranks = case
    stage = _averaging.model_of(ranks)
    module.average_gradients(stage, columns()[layout])
    return _averaging.held(stage)


@cache
def columns():
    """All groups, made before any work runs: a rank that leaves early meets no new_group."""
    return {(dp, pp): make_groups(Grid(dp=dp, pp=pp)).dp for dp, pp in LAYOUTS}


def cases():
    """For each layout and dtype, for each rank: name -> (weight, gradient).

    All stages have the same shapes, so that an average over the wrong ranks gives wrong numbers,
    and not a crash.
    """
    frozen = _averaging.FROZEN
    ranks = [[{n: both for n, both in rank.items() if n != frozen} for rank in each]
             for each in _averaging.drawn(RANKS)]  # fmt: skip
    return [(layout, each) for layout in LAYOUTS for each in ranks]


DIVIDE, COPY = f"flat /= {SIZE}", "gradient.copy_(part.view_as(gradient))"
MUTANTS = {
    (DIVIDE, "flat /= dist.get_world_size()"): "the sum over the group is divided by 4: divide "
    f"once, by {SIZE}, not by dist.get_world_size()",
    (DIVIDE, f"{DIVIDE} ** 2"): f"the gradients are divided twice: divide once, by {SIZE}",
    (COPY, f"dist.get_rank(group) or {COPY}"): "only the first rank of the group has the mean: "
    "each of the ranks that hold a stage needs it, in every pipeline, so take all_reduce on all "
    "of them",
}


def explain(case, seen):
    (dp, pp), ranks = case
    groups = [range(rank % pp, dp * pp, pp) for rank in range(dp * pp)]
    return _averaging.explain(ranks, seen, "gradient", groups, SIZE)
