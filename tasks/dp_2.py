"""DP-2: average the weights."""

import torch.distributed as dist

from tasks import _averaging
from tasks._averaging import FROZEN

SPARE = "spare"  # is trained, but this step gave it no gradient
HINTS = (
    "The optimizer holds these parameters, so they must stay the same objects: `p = something` "
    "writes nothing into the model. And torch refuses to write into a parameter that wants "
    "gradients, unless that is under torch.no_grad().",
    "Under torch.no_grad(), go over model.parameters(): all_reduce each p, then divide p by "
    "world_size, in place. (Faster, for later: join all into one flat tensor.)",
)
# Four ranks, where the lesson uses three: a 2 or a 3 that is written into the code shows.
LESSON, MINUTES, RANKS = "data_parallel_weights", 15, 4


def observe(module, case):
    model = _averaging.model_of(case)
    before = dict(model.named_parameters())  # as an optimizer holds them
    module.average_weights(model, dist.get_world_size())
    now = dict(model.named_parameters())
    replaced = [name for name, p in before.items() if now.get(name) is not p]
    return _averaging.held(model) | {"replaced": replaced}


def cases():
    return _averaging.drawn(RANKS, more=(SPARE,))


ALL, COPY = "list(model.parameters())", "weight.copy_(part.view_as(weight))"
MUTANTS = {
    (ALL, "[p for p in model.parameters() if p.grad is not None]"):
        f"the parameter {SPARE!r} has no gradient in this step, and was left out: the weights are "
        "averaged, so do not look at p.grad",
    (COPY, f"{COPY[:-1]} * (1 if weight.requires_grad else world_size))"):
        f"the parameter {FROZEN!r} is the same on all ranks, so its mean is what it was, and it "
        "has changed: treat it like every other parameter, or leave it alone",
    ("flatten() for weight in weights]", "flatten() for weight in weights][::-1]"):
        "the means are right, and stand in the wrong parameters: give the parts of the flat tensor "
        "back in the order in which they were joined",
    ("dist.all_reduce(flat, op=dist.ReduceOp.SUM)", "dist.reduce(flat, dst=0)"):
        "only rank 0 has the mean, and every rank needs it: take all_reduce, not reduce",
}  # fmt: skip


def explain(case, seen):
    if seen[0]["replaced"]:
        return (
            "the parameters were replaced by new ones: the optimizer still holds the old ones and "
            "would train those, so write the mean into the old ones"
        )
    return _averaging.explain(case, seen, "weight")


STOPPED = {
    "leaf.*in-place": "torch does not let a weight be written in place while it records gradients: "
    "write under torch.no_grad()"
}
