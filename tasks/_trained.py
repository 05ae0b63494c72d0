"""What the trainers of DP-PP-2 and TW-1 are asked: a few steps on a grid, in float64."""

import torch
import torch.distributed as dist

from helpers.ranks import Place
from simplellm.slicing import whole_name
from tasks._sent import noting_what_leaves

LAYOUTS = ((2, 2), (4, 1), (1, 4))
# Three batches hold more than one story, so that the parts of the text differ.
FLAGS = "--dmodel 16 --heads 2 --layers 4 --seq-l 32 --steps 3 --optimizer sgd --lr 0.5"
FLAGS += " --batch-size 4 --micro-batches 2"
NAME = "{dp} x {pp}"
TOLERANCE = 1e-7  # float64; only the order of additions differs


def cases(*more):
    """Each layout with a seed of its own. more: flags."""
    found = []
    for dp, pp in LAYOUTS:
        number = int(torch.randint(1000, ()))
        flags = [*FLAGS.split(), "--stages", str(pp), "--seed", str(number), *more]
        found.append({"dp": dp, "pp": pp, "flags": flags})
    return found


def explain(case, seen):
    """Say which rank has sent less than a stage of a grid must; None if none."""
    for rank, one in enumerate(seen):
        if less := one["too little went to"]:
            alone = "each rank trains the whole model by itself, and nothing leaves it: "
            several = sum(case[axis] > 1 for axis in ("dp", "pp"))
            return (
                f"{alone * (len(less) == several)}too little left rank {rank} for "
                f"{' and '.join(less)}: along the row go the outputs of a stage and their "
                "gradients, down the column the gradients of its weights"
            )


def trained(module, case, whole=lambda weight: weight):
    """What a rank has after the steps, and the trace. whole(weight): all of a cut one."""
    rank, world, said = dist.get_rank(), dist.get_world_size(), []
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        options, place = module.read_flags(case["flags"]), Place(rank, world, rank, world)
        with noting_what_leaves() as sent:
            losses, stage, trace = module.train(
                options, place, "cpu", lambda *pair: said.append(pair)
            )
        weights = {
            whole_name(name, getattr(stage, "first_layer", 0)): whole(w.detach())
            for name, w in stage.named_parameters()
        }
    finally:
        torch.set_default_dtype(before)
    own = sum(weight.numel() for weight in weights.values())
    return {
        "losses": [float(loss) for loss in losses],
        "said": [step for step, _ in said],
        "weights": weights,
        "too little went to": too_little(sent, rank, case["pp"], options, own),
    }, trace


def too_little(sent, rank, stages, options, own):
    """Return what of "its row" and "its column" got less than any such trainer sends, in numbers.

    A row gets the outputs of a stage, or their gradients, of each token that has a target.
    """
    ranks = range(dist.get_world_size())
    row = {other for other in ranks if other // stages == rank // stages} - {rank}
    column = {other for other in ranks if other % stages == rank % stages} - {rank}
    ends = (rank % stages == 0) + (rank % stages == stages - 1)
    tokens = options.batch_size * (options.seq_l - 1)
    least = {"its row": (row, (2 - ends) * tokens * options.dmodel), "its column": (column, own)}
    return [
        name
        for name, (others, enough) in least.items()
        if others
        and sum(one["numbers"] for one in sent if others & {*one["to"]}) < enough * options.steps
    ]
