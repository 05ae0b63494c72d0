"""DP-1: average the gradients."""

import torch.distributed as dist

from tasks import _averaging

HINTS = (
    "After backward, p.grad holds this rank's gradient. Which collective gives every rank the sum "
    "of what all hold? How does a sum become a mean? And which parameters have no gradient to "
    "send?",
    "For each of model.parameters() whose grad isn't None: dist.all_reduce(p.grad), then divide "
    "it by world_size, in place. (Faster, for later: join all into one flat tensor.)",
)
# Four ranks, where the lesson uses three: a 2 or a 3 that is written into the code shows.
LESSON, MINUTES, RANKS = "data_parallel_gradients", 15, 4


def observe(module, case):
    model = _averaging.model_of(case)
    module.average_gradients(model, dist.get_world_size())
    seen = _averaging.held(model)
    frozen = seen["gradient"][_averaging.FROZEN]
    if frozen is not None and not frozen.any():  # zeros do no harm
        seen["gradient"][_averaging.FROZEN] = None
    return seen


def cases():
    return _averaging.drawn(RANKS)


MUTANTS = {
    ("dist.all_reduce(flat, op=dist.ReduceOp.SUM)", "dist.reduce(flat, dst=0)"): "only rank 0 has "
    "the mean, and every rank needs it: take all_reduce, not reduce"
}


def explain(case, seen):
    return _averaging.explain(case, seen, "gradient")


STOPPED = {
    "NoneType": "a parameter that takes no part in the training has p.grad None, and must be "
    "skipped"
}
