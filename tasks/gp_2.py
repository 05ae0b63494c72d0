"""GP-2 (problem 1.2): the mean of the gradients on every rank."""

from types import SimpleNamespace

from helpers.grade import Task
from tasks import _gp, dp_1  # noqa: F401

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


def run(module, case):
    """What DP-1 observes: the function is the same, and asks torch for the number of ranks."""
    same = SimpleNamespace(average_gradients=lambda model, ranks: module.average_gradients(model))
    return dp_1.run(same, case)
