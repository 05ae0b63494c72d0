"""TW-1: one device with the batch of all pipelines, as for DP-PP-2; and what torch does otherwise.

torch divides the gradients of a step by its micro-batches at the end, those that were there before
the step as well: without zero_grad, a fourth of the last step's is left.
"""

from functools import cache

from tasks.truth import dp_pp_2

MICRO_BATCHES = 4  # torch's 1F1B wants at least as many as stages
TOLERANCE = dp_pp_2.TOLERANCE
name = dp_pp_2.name


def cases(seed):
    """Those of DP-PP-2, with more micro-batches."""
    found = dp_pp_2.cases(seed)
    for case in found:
        case["flags"] += ["--micro-batches", str(MICRO_BATCHES)]
    return found


def truth(case, **mistake):
    return _after(tuple(case["flags"]), case["dp"], case["pp"], tuple(mistake.items()))


@cache
def _after(flags, dp, pp, mistake):
    ranks = dp_pp_2.truth({"flags": list(flags), "dp": dp, "pp": pp}, **dict(mistake))
    return [{key: rank[key] for key in rank if key != "not in the trace"} for rank in ranks]


def all_alike(grid, replica, stage):
    return 0, 1


def by_rank(grid, replica, stage):
    return replica * grid.pp + stage, grid.size


MISTAKES = {
    "every pipeline reads the same stories, so the second one adds nothing: give make_stories the "
    "number of the replica, dp, and their number, mesh['dp'].size()": {"part": all_alike},
    "the stories are divided among all ranks, so the last stage of a pipeline compares with "
    "another text than its first stage reads: divide them along mesh['dp']": {"part": by_rank},
    "nobody averages: each pipeline trains a model of its own; fully_shard over mesh['dp'] "
    "averages in the backward": {"average": False},
    "the gradients are the sum over the pipelines: fully_shard divides by their number, so nothing "
    "must undo it": lambda case: truth(case, factor=case["dp"]),
    "a part of the last step's gradients is still there, because torch's step divides all of .grad "
    "by the micro-batches: call optimizer.zero_grad() in every step": {"kept": 1 / MICRO_BATCHES},
    "the weights are those of the start: nobody calls optimizer.step(), or the optimizer was made "
    "before fully_shard and still holds the old parameters": {"update": False},
    "each rank trains the whole model by itself, and nothing leaves it: a rank holds one stage of "
    "PipelineStage, and fully_shard averages over mesh['dp']": {"sent": False},
}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    for rank, (mine, should) in enumerate(zip(seen, truth(case), strict=True)):
        if mine["weights"].keys() != should["weights"].keys():
            return (
                f"rank {rank} holds other layers than its stage has: it is stage "
                f"{rank % case['pp']} of {case['pp']}, its coordinate along 'pp'"
            )
        if len(mine["losses"]) != len(should["losses"]):
            return (
                f"rank {rank} returns {len(mine['losses'])} losses and not "
                f"{len(should['losses'])}: one for each step on the last stage, none elsewhere"
            )
    return dp_pp_2.kept_to_itself(seen)


def stopped(sentence):
    return "larger than number of stages" in sentence and (
        "the pipeline goes over all ranks, and they are several pipelines: give PipelineStage "
        "group=mesh['pp'].get_group()"
    )
