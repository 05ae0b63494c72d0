"""GP-2 (problem 1.2): the mean of the gradients on every rank."""

from pathlib import Path

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

gp = load_module(Path(__file__).with_name("_gp.py"), "lab_task_gp")

TASK = Task(
    id="GP-2",
    title="average the gradients of GPT-2 over the ranks",
    file="gpt2/project/run_data_parallel.py",
    function="average_gradients",
    notebook="16",
    libraries=("transformers.models.gpt2.modeling_gpt2", "transformers.generation"),
    points=10,
    minutes=15,
    seconds=150,
    hints=(
        "What must be the same on every rank after backward, so that the replicas stay equal?",
        "Walk through model.parameters(). One collective adds a tensor up over all ranks, and "
        "leaves the sum on each. A parameter that was not used has None as its gradient.",
        "For each p whose p.grad is not None: dist.all_reduce(p.grad), then divide p.grad by "
        "dist.get_world_size(), in place.",
    ),
)
RANKS = 3


def make_model(seed, rank):
    """Two layers, alike on all ranks; the first has gradients, others on every rank."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = torch.nn.ModuleList([torch.nn.Linear(4, 3), torch.nn.Linear(2, 2)])
    own = torch.Generator().manual_seed(seed + rank)
    for p in model[0].parameters():
        p.grad = torch.randn(p.shape, generator=own)
    return model


def gradients_of(model):
    return {n: p.grad for n, p in model[0].named_parameters()}


def weights_of(model):
    return {n: p.detach() for n, p in model.named_parameters()}


def work(module, seed):
    """On a rank: gradients and weights after."""
    import torch.distributed as dist

    model = make_model(seed, dist.get_rank())
    module.average_gradients(model)
    return gradients_of(model), weights_of(model)


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    from helpers.oracle import differences

    answers = submission.on_ranks(work, RANKS, submission.seed)
    models = [make_model(submission.seed, rank) for rank in range(RANKS)]
    own = [gradients_of(model) for model in models]
    for rank, (found, weights) in enumerate(answers):
        for name, mine in own[rank].items():
            total = sum(gradients[name] for gradients in own)
            known = {
                "is still the rank's own: write the mean into p.grad itself": mine,
                "is the sum over the ranks: divide it by their number": total,
                "was divided twice": total / RANKS**2,
            }
            if near(found.get(name), total / RANKS):
                continue
            for sentence, wrong in known.items():
                if near(found.get(name), wrong):
                    raise Mistake(f"rank {rank}: the gradient of {name} {sentence}")
            raise Mistake(f"rank {rank}: the gradient of {name} is not the mean over the ranks")
        if differences(weights_of(models[rank]), weights, tolerance=0.0):
            raise Mistake(f"rank {rank}: a weight has changed: average the gradients alone")


def near(found, expected):
    return gp.near(found, expected, 1e-5 * float(expected.abs().max()))
