"""DP-1: average the gradients."""

import torch.distributed as dist

from helpers.grade import Task
from tasks import _averaging

TASK = Task(
    title="average the gradients",
    file="DP/gradient_aggr/intro_DP_GA.py",
    function="average_gradients",
    lesson="data_parallel_gradients",
    minutes=15,
    ranks=4,  # the lesson uses three: a 2 or a 3 that is written into the code shows
    hints=(
        "After backward, p.grad of each parameter holds this rank's gradient. Which collective "
        "gives every rank the sum of what all ranks hold?",
        "dist.all_reduce(tensor) puts the sum over all ranks into `tensor` itself, on every rank. "
        "How does a sum become a mean? And which parameters have no gradient to send?",
        "Go over model.parameters(). Skip a parameter whose grad is None. For each other one: "
        "all_reduce its grad, then divide the grad by world_size, in place. (Faster, for later: "
        "join all gradients into one flat tensor, and send that once.)",
    ),
)


def observe(module, case):
    """On every rank: call the work on this rank's model; what stands in its parameters then."""
    model = _averaging.model_of(case)
    module.average_gradients(model, dist.get_world_size())
    return _averaging.gradients_held(model)


def cases(seed):
    return _averaging.gradients(seed, TASK.ranks)


FIRST = """
for p in model.parameters():
    if p.grad is not None:
        dist.all_reduce(p.grad)
        p.grad /= world_size
        break
"""
MUTANTS = {
    ("flat /= world_size", "pass"): "the gradients are the sum over the ranks: divide by "
    "world_size after the all_reduce, in place (g = g / n names a new tensor, and changes no "
    "p.grad)",
    ("flat /= world_size", "flat /= world_size**2"): "the gradients are divided twice: by "
    "world_size before the all_reduce and again after it; do it once",
    ("gradient.copy_(part.view_as(gradient))", "gradient = part"): "every rank still has its own "
    "gradients: the mean was never written back into p.grad (assigning to a loop variable changes "
    "no tensor; use copy_, or divide in place)",
    ("dist.all_reduce(flat, op=dist.ReduceOp.SUM)", "pass"): "every rank has its own gradients "
    "divided by world_size: nothing was communicated, the all_reduce is missing",
    ("flat /= world_size", "flat /= 3"): "the gradients are divided by 3, where world_size is 4",
    ("flat /= world_size", "flat /= 2"): "the gradients are divided by 2, where world_size is 4",
    (("ReduceOp.SUM", "ReduceOp.MAX"), ("flat /= world_size", "pass")): "all_reduce took "
    "ReduceOp.MAX: a mean needs ReduceOp.SUM",
    ("ReduceOp.SUM", "ReduceOp.MAX"): "all_reduce took ReduceOp.MAX, then a division: a mean needs "
    "ReduceOp.SUM",
    ("dist.all_reduce(flat, op=dist.ReduceOp.SUM)", "dist.reduce(flat, dst=0)"): "only rank 0 has "
    "the mean, and every rank needs it: take all_reduce, not reduce",
    FIRST: "only the first parameter was averaged: look for a return or a break inside the loop",
    """
for p in model.parameters():
    if p.grad is None:
        break
    dist.all_reduce(p.grad)
    p.grad /= world_size
""": "the averaging stops at the first parameter whose p.grad is None: go on with the next one "
    "(continue, not break or return)",
    ("gradient.flatten() for", "gradient.flatten().float() for"): "float64 comes back with "
    "float32's accuracy: keep the dtype of p.grad",
}


def explain(case, seen):
    return _averaging.changed(case, seen, "weight")


def stopped(sentence):
    if "NoneType" in sentence:
        return (
            "a parameter that takes no part in the training has p.grad None, and must be skipped: "
            f"{sentence}"
        )
