"""What the trainers of DP-PP-2 and TW-1 are asked: a few steps on a grid, in float64."""

import torch
import torch.distributed as dist

from helpers.ranks import Place
from simplellm.slicing import whole_name
from tasks._sent import noting_what_leaves

STEPS, LAYOUTS = 3, ((2, 2), (4, 1), (1, 4))
TOLERANCE = 1e-7  # float64; only the order of additions differs


def cases(seed, *more):
    """Each layout with a seed of its own. more: flags."""
    draw = torch.Generator().manual_seed(seed)
    found = []
    for dp, pp in LAYOUTS:
        number = int(torch.randint(1000, (), generator=draw))
        # Three batches hold more than one story, so that the parts of the text differ.
        flags = ["--dmodel", "16", "--heads", "2", "--layers", "4", "--seq-l", "32"]
        flags += ["--steps", str(STEPS), "--optimizer", "sgd", "--lr", "0.5"]
        flags += ["--batch-size", "4", "--micro-batches", "2"]
        flags += ["--stages", str(pp), "--seed", str(number), *more]
        found.append({"dp": dp, "pp": pp, "flags": flags})
    return found


def name(case):
    return f"{case['dp']} x {case['pp']}"


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
    return None


def trained(module, case, whole=lambda weight: weight):
    """What a rank has after the steps, where too little went, and the third result of `train`.

    case: {"dp", "pp", "flags": of the script}. whole(weight): all of a weight that is in parts.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    said, before = [], torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        options = module.read_flags(case["flags"])
        place = Place(rank, world, rank, world)
        with noting_what_leaves() as sent:
            losses, stage, trace = module.train(
                options, place, "cpu", lambda *pair: said.append(pair)
            )
        seen = {
            "losses": [float(loss) for loss in losses],
            "said": [step for step, _ in said],
            "weights": {
                whole_name(name, getattr(stage, "first_layer", 0)): whole(w.detach())
                for name, w in stage.named_parameters()
            },
        }
        seen["too little went to"] = too_little(sent, rank, case["pp"], options, seen)
        return seen, trace
    finally:
        torch.set_default_dtype(before)


def too_little(sent, rank, stages, options, seen):
    """Return what of "its row" and "its column" got less than any such trainer sends, in numbers.

    A row gets the outputs of a stage, or their gradients, of each token that has a target. A column
    gets the gradients of the weights.
    """
    world, own = dist.get_world_size(), sum(w.numel() for w in seen["weights"].values())
    row = {other for other in range(world) if other // stages == rank // stages}
    column = {other for other in range(world) if other % stages == rank % stages}
    ends = (rank % stages == 0) + (rank % stages == stages - 1)
    tokens = options.batch_size * (options.seq_l - 1)
    least = {"its row": (2 - ends) * tokens * options.dmodel, "its column": own}
    found = []
    for (name, enough), ranks in zip(least.items(), (row, column), strict=True):
        numbers = sum(one["numbers"] for one in sent if (ranks - {rank}) & set(one["to"]))
        if len(ranks) > 1 and numbers < enough * options.steps:
            found.append(name)
    return found
