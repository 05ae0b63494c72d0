"""GP-2 (problem 1.2): the mean of the gradients on every rank."""

from helpers.grade import Task
from tasks import _averaging, _gp  # noqa: F401

TASK = Task(
    id="GP-2",
    title="average the gradients of GPT-2 over the ranks",
    file="gpt2/project/run_data_parallel.py",
    function="average_gradients",
    notebook="20",
    libraries=("transformers.models.gpt2.modeling_gpt2", "transformers.generation"),
    points=10,
    minutes=5,
    seconds=150,
    ranks=4,
    hints=(
        "What must be the same on every rank after backward, so that the replicas stay equal?",
        "Go through model.parameters(). One collective adds a tensor up over all ranks and leaves "
        "the sum on each. A parameter that wasn't used has None as its gradient.",
        "For each p whose p.grad is not None: dist.all_reduce(p.grad), then divide p.grad by "
        "dist.get_world_size(), in place.",
    ),
)


def observe(module, case):
    """What DP-1 observes: the function is the same, and asks torch for the number of ranks."""
    model = _averaging.model_of(case)
    module.average_gradients(model)
    return _averaging.gradients_held(model)


def cases(seed):
    return _averaging.gradients(seed, TASK.ranks)


MUTANTS = {
    "the gradients are the sum over the ranks: divide by the number of ranks after the "
    "all_reduce": {"p.grad /= ranks": "pass"},
    "the gradients are divided twice: by the number of ranks before the all_reduce and again "
    "after it; do it once": {"p.grad /= ranks": "p.grad /= ranks**2"},
    "every rank has its own gradients divided by the number of ranks: nothing was communicated, "
    "the all_reduce is missing": {"dist.all_reduce(p.grad)": "pass"},
    "every rank still has its own gradients: the mean was never written back into p.grad "
    "(assigning to a variable changes no tensor)": {
        "dist.all_reduce(p.grad)": "mean = p.grad.clone()\ndist.all_reduce(mean)",
        "p.grad /= ranks": "mean /= ranks",
    },
    "only rank 0 has the mean, and every rank needs it: take all_reduce, not reduce": {
        "all_reduce(p.grad)": "reduce(p.grad, dst=0)"
    },
    "only the first parameter was averaged: look for a return or a break inside the loop": {
        "p.grad /= ranks": "p.grad /= ranks\nbreak"
    },
    "the averaging stops at the first parameter whose p.grad is None: go on with the next one": {
        "if p.grad is not None:": "if p.grad is None:\n    break\nelse:"
    },
}


def stopped(sentence):
    if "NoneType" in sentence:
        return f"a parameter that wasn't used has p.grad None, and must be skipped: {sentence}"
