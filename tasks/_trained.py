"""What the trainers of DP-PP-2 and TW-1 are asked: a few steps on a grid, in float64."""

import torch
import torch.distributed as dist

from helpers.ranks import Place
from simplellm.slicing import whole_name


def trained(module, case, whole=lambda weight: weight):
    """What a rank has after the steps, and the third result of `train`.

    case: {"dp", "pp", "flags": of the script}. whole(weight): all of a weight that is in parts.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    said, before = [], torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        options = module.read_flags(case["flags"])
        place = Place(rank, world, rank, world)
        losses, stage, trace = module.train(options, place, "cpu", lambda *pair: said.append(pair))
        seen = {
            "losses": [float(loss) for loss in losses],
            "said": [step for step, _ in said],
            "weights": {
                whole_name(name, getattr(stage, "first_layer", 0)): whole(w.detach())
                for name, w in stage.named_parameters()
            },
        }
        return seen, trace
    finally:
        torch.set_default_dtype(before)
