"""DP-2: average the weights."""

import torch
import torch.distributed as dist

from helpers.grade import Task
from tasks import _averaging
from tasks._averaging import FROZEN

SPARE = "spare"  # is trained, but this step gave it no gradient
TASK = Task(
    title="average the weights",
    file="DP/weight_aggr/intro_DP_WA.py",
    function="average_weights",
    lesson="data_parallel_weights",
    minutes=15,
    ranks=4,  # the lesson uses three: a 2 or a 3 that is written into the code shows
    hints=(
        "Each rank has taken a step of its own, so the weights differ. You know the collective "
        "that adds what all ranks hold. What must stay the same object, because the optimizer "
        "holds it?",
        "A parameter wants gradients, so torch refuses to write into it: do it under "
        "torch.no_grad(). And `p = something` gives the name p to another tensor; it writes "
        "nothing into the model.",
        "Under torch.no_grad(), go over model.parameters(): all_reduce each p, then divide p by "
        "world_size, in place. (Faster, for later: join all weights into one flat tensor, send "
        "that once, and copy_ each part back.)",
    ),
)


def observe(module, case):
    """On every rank: average this rank's model; what its parameters hold afterwards."""
    model = _averaging.model_of(case)
    before = dict(model.named_parameters())  # as an optimizer holds them
    module.average_weights(model, dist.get_world_size())
    now = dict(model.named_parameters())
    replaced = [name for name, p in before.items() if now.get(name) is not p]
    return _averaging.held(model) | {"replaced": replaced}


def cases(seed):
    """For each dtype, for each rank after its own step: name -> (weight, gradient or None).

    The frozen one is the same on every rank: averaged or left alone, both are right.
    """
    draw = torch.Generator().manual_seed(seed)
    a, b, c = torch.randint(2, 9, (3,), generator=draw).tolist()
    shapes = {"embedding": (c, a), "weight": (a, b), "scale": (), FROZEN: (b,), SPARE: (a,)}
    shapes |= {"bias": (b,), "head": (b, 2, c)}
    drawn = []
    for dtype in (torch.float32, torch.float64):
        same = _averaging.some(shapes[FROZEN], dtype, draw)

        def of_a_rank(dtype=dtype, same=same):
            weights = {n: _averaging.some(shape, dtype, draw) for n, shape in shapes.items()}
            weights[FROZEN] = same
            without = (FROZEN, SPARE)
            return {
                n: (w, None if n in without else _averaging.some(shapes[n], dtype, draw))
                for n, w in weights.items()
            }

        drawn.append([of_a_rank() for _ in range(TASK.ranks)])
    return drawn


REDUCE = "dist.all_reduce(flat, op=dist.ReduceOp.SUM)"
FIRST = """
with torch.no_grad():
    for p in model.parameters():
        dist.all_reduce(p)
        p /= world_size
        break
"""
NEW = """
for name, p in list(model.named_parameters()):
    mean = p.detach().clone()
    dist.all_reduce(mean)
    new = torch.nn.Parameter(mean / world_size, requires_grad=p.requires_grad)
    new.grad = p.grad
    setattr(model, name, new)
"""
MUTANTS = {
    ("flat /= world_size", "pass"): "the weights are the sum over the ranks: divide by world_size "
    "after the all_reduce, in place (w = w / n names a new tensor, and changes no p)",
    ("flat /= world_size", "flat /= world_size**2"): "the weights are divided twice: by world_size "
    "before the all_reduce and again after it; do it once",
    ("weight.copy_(part.view_as(weight))", "weight = part"): "every rank still has its own "
    "weights: the mean was never written back into the parameter p (assigning to a loop variable "
    "changes no tensor; use copy_, or divide in place)",
    (REDUCE, "pass"): "every rank has its own weights divided by world_size: nothing was "
    "communicated, the all_reduce is missing",
    ("flat /= world_size", "flat /= 3"): "the weights look divided by 3, where world_size is 4",
    ("flat /= world_size", "flat /= 2"): "the weights look divided by 2, where world_size is 4",
    ("flat /= world_size", "flat /= 8"): "the weights look divided by 8, where world_size is 4",
}
for op in ("MAX", "MIN", "PRODUCT"):
    sentence = f"all_reduce took ReduceOp.{op}: a mean needs ReduceOp.SUM"
    other = ("ReduceOp.SUM", f"ReduceOp.{op}")
    MUTANTS[other, ("flat /= world_size", "pass")] = sentence
    MUTANTS[other] = f"{sentence}, then a division"
for rank in range(TASK.ranks):
    broadcast = (REDUCE, f"dist.broadcast(flat, src={rank})")
    MUTANTS[broadcast, ("flat /= world_size", "pass")] = (
        f"every rank has the weights of rank {rank}: that is a broadcast, and what the others "
        "learned is lost; a mean needs an all_reduce"
    )
MUTANTS |= {
    (
        "list(model.parameters())",
        "[p for p in model.parameters() if p.grad is not None]",
    ): f"the parameter {SPARE!r} has no gradient in this step, and was left out: the weights are "
    "averaged, so do not look at p.grad",
    (
        "weight.copy_(part.view_as(weight))",
        "weight.copy_(part.view_as(weight) * (1 if weight.requires_grad else world_size))",
    ): f"the parameter {FROZEN!r} is the same on all ranks, so its mean is what it was, and it has "
    "changed: treat it like every other parameter, or leave it alone",
    NEW: "the parameters were replaced by new ones: the optimizer still holds the old ones and "
    "would train those, so write the mean into the old ones",
    ("flatten() for weight in weights]", "flatten() for weight in weights][::-1]"): "the means are "
    "right, and stand in the wrong parameters: give the parts of the flat tensor back in the order "
    "in which they were joined",
    (REDUCE, "dist.reduce(flat, dst=0)"): "only rank 0 has the mean, and every rank needs it: take "
    "all_reduce, not reduce",
    FIRST: "only the first parameter was averaged, the others were left as they were: look for a "
    "return or a break inside the loop",
    ("weight.flatten() for", "weight.flatten().float() for"): "float64 comes back with float32's "
    "accuracy: keep the dtype of the parameter p",
}


def explain(case, seen):
    return _averaging.changed(case, seen, "gradient")


def stopped(sentence):
    if "leaf" in sentence and "in-place" in sentence:
        return (
            "torch does not let a weight be written in place while it records gradients: write "
            f"under torch.no_grad(): {sentence}"
        )
