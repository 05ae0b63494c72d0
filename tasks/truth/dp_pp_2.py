"""DP-PP-2: one device with the batch of all pipelines; and trainers that miss one part of it."""

from collections import OrderedDict
from copy import deepcopy
from functools import cache

import torch

from helpers.grid import Grid
from simplellm.losses import causalLLMLoss
from simplellm.options import TrainingFlags, make_optimizer, make_stories, make_tokenizer, prepare
from simplellm.slicing import slice_stage, whole_name

RANKS, STEPS = 4, 3
LAYOUTS = ((2, 2), (4, 1), (1, 4))
TOLERANCE = 1e-7  # float64; only the order of additions differs


def cases(seed):
    """Each layout with a seed of its own."""
    draw = torch.Generator().manual_seed(seed)
    found = []
    for dp, pp in LAYOUTS:
        number = int(torch.randint(1000, (), generator=draw))
        flags = ["--dmodel", "16", "--heads", "2", "--layers", "4", "--seq-l", "16"]
        flags += ["--steps", str(STEPS), "--optimizer", "sgd", "--lr", "0.5"]
        flags += ["--batch-size", "4", "--micro-batches", "2"]
        flags += ["--stages", str(pp), "--seed", str(number)]
        found.append({"dp": dp, "pp": pp, "flags": flags})
    return found


def name(case):
    return f"{case['dp']} x {case['pp']}"


def own_part(grid, replica, stage):
    return replica, grid.dp


def truth(case, part=own_part, average=True, kept=0.0, update=True, factor=1.0, sent=True):
    """Train every replica on one device, and return what its ranks then hold.

    part(grid, replica, stage): the part of the stories that a rank of this stage reads, and of how
    many. average, update: whether the trainer does it. kept: how much of the last step's gradients
    is still there. factor: on the mean over replicas. sent: whether anything leaves a rank.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        found = _after(case, part, average, kept, update, factor)
    finally:
        torch.set_default_dtype(before)
    for rank in found:
        rank["too little went to"] = [
            name
            for name, several, left in (("its row", "pp", sent), ("its column", "dp", average))
            if case[several] > 1 and not (left and sent)
        ]
    return found


@cache
def _start(flags):
    """The flags, the size of the vocabulary, and the whole model with which every rank begins."""
    options = TrainingFlags("", batch_size=4, micro_batches=2, stages=1).parse_args(list(flags))
    tokenizer, model = prepare(options, "cpu")
    return options, tokenizer.vocab_size, model


@cache
def _batches(flags, number, parts):
    options, *_ = _start(flags)
    stories = iter(make_stories(options, make_tokenizer(options), number, parts, quiet=True))
    return [next(stories) for _ in range(options.steps)]


def _after(case, part, average, kept, update, factor):
    options, vocabulary, whole = _start(tuple(case["flags"]))
    grid = Grid(dp=case["dp"], pp=case["pp"])
    models, optimizers, inputs, targets, losses = [], [], [], [], []
    for replica in range(grid.dp):
        model = deepcopy(whole)
        models.append(model)
        optimizers.append(make_optimizer(options, model))
        for streams, stage in ((inputs, 0), (targets, grid.pp - 1)):
            number, parts = part(grid, replica, stage)
            streams.append(_batches(tuple(case["flags"]), number, parts))
        losses.append([])
    for step in range(options.steps):
        for r, model in enumerate(models):
            for p in model.parameters():
                p.grad = kept * p.grad if kept and p.grad is not None else None
            loss = causalLLMLoss(model(inputs[r][step]), targets[r][step], vocabulary)
            loss.backward()
            losses[r].append(loss.item())
        if average:
            for copies in zip(*(model.parameters() for model in models), strict=True):
                mean = factor * sum(p.grad for p in copies) / grid.dp
                for p in copies:
                    p.grad = mean.clone()
        for optimizer in optimizers:
            if update:
                optimizer.step()
    return [_rank(models[d], losses[d], s, grid.pp) for d in range(grid.dp) for s in range(grid.pp)]


def _rank(model, losses, stage, stages):
    part = slice_stage(model, stage, stages) if stages > 1 else model
    first = getattr(part, "first_layer", 0)
    last = stage == stages - 1
    return {
        "losses": losses if last else [],
        "said": list(range(len(losses))) if last else [],
        "weights": OrderedDict(
            (whole_name(n, first), p.detach()) for n, p in part.named_parameters()
        ),
        "not in the trace": [],
    }


MISTAKES = {
    "every pipeline reads the same stories, so the second one adds nothing: give make_stories the "
    "number of the row, here.dp, and the number of rows": {
        "part": lambda grid, replica, stage: (0, 1)
    },
    "every pipeline reads part 0 of the stories: the part is the number of the row, here.dp": {
        "part": lambda grid, replica, stage: (0, grid.dp)
    },
    "the stories are divided among all ranks, so the last stage of a pipeline compares with "
    "another text than its first stage reads: divide them among the rows, here.dp of grid.dp": {
        "part": lambda grid, replica, stage: (replica * grid.pp + stage, grid.size)
    },
    "the stories are divided among the stages: the part is here.dp of grid.dp, the row, not the "
    "column": {"part": lambda grid, replica, stage: (stage, grid.pp)},
    "nobody averages: each pipeline trains a model of its own; call average_gradients(stage, "
    "groups.dp) between the step of the pipeline and that of the optimizer": {"average": False},
    "the gradients are the sum over the pipelines: average_gradients must divide": lambda case: (
        truth(case, factor=case["dp"])
    ),
    "the gradients of earlier steps are still there: call optimizer.zero_grad() in every step": {
        "kept": 1.0
    },
    "the weights are those of the start: nobody calls optimizer.step()": {"update": False},
    "each rank trains the whole model by itself, and nothing leaves it: a rank holds one stage, "
    "sends along its row what its stage has computed, and averages down its column": {
        "sent": False
    },
}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    right = truth(case)
    for rank, (mine, should) in enumerate(zip(seen, right, strict=True)):
        if mine["weights"].keys() != should["weights"].keys():
            return (
                f"rank {rank} holds other layers than its stage has: it is stage "
                f"{rank % case['pp']} of {case['pp']}, the number of its column (here.pp)"
            )
        if should["losses"] and not mine["losses"]:
            return f"rank {rank} is the last of its pipeline and returns no losses"
        if mine["losses"] and not should["losses"]:
            return f"rank {rank} is not the last of its pipeline, and still returns losses"
        if mine["not in the trace"] and mine["weights"]:
            missing = " and ".join(mine["not in the trace"])
            return f"it trains, but the trace of rank {rank} has no {missing}: record the spans"
    return kept_to_itself(seen)


def kept_to_itself(seen):
    """Say which rank has sent less than a stage of a grid must; None if none."""
    for rank, one in enumerate(seen):
        if one["too little went to"]:
            return (
                f"too little left rank {rank} for {' and '.join(one['too little went to'])}: along "
                "the row go the outputs of a stage and their gradients, down the column the "
                "gradients of its weights"
            )
    return None


# The stages of a row have different sizes, so an average along it is stopped.
MISFITS = {
    "size": "the ranks of one row average with each other, and they hold different layers: the "
    "average goes down the column, over groups.dp"
}
