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


def work(module, seed):
    """On a rank: gradients before and after, and whether the weights have changed."""
    import torch
    import torch.distributed as dist

    torch.manual_seed(seed)
    model = torch.nn.ModuleList([torch.nn.Linear(4, 3), torch.nn.Linear(2, 2)])
    before = [p.detach().clone() for p in model.parameters()]
    own = torch.Generator().manual_seed(seed + dist.get_rank())
    for p in model[0].parameters():
        p.grad = torch.randn(p.shape, generator=own)
    mine = {n: p.grad.clone() for n, p in model[0].named_parameters()}
    module.average_gradients(model)
    found = {n: p.grad for n, p in model[0].named_parameters()}
    same = all(torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True))
    return mine, found, same


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    answers = submission.on_ranks(work, RANKS, submission.seed)
    for rank, (mine, found, same) in enumerate(answers):
        for name in mine:
            total = sum(gradients[name] for gradients, *_ in answers)
            known = {
                "is still the rank's own: write the mean into p.grad itself": mine[name],
                "is the sum over the ranks: divide it by their number": total,
                "was divided twice": total / RANKS**2,
            }
            if near(found[name], total / RANKS):
                continue
            for sentence, wrong in known.items():
                if near(found[name], wrong):
                    raise Mistake(f"rank {rank}: the gradient of {name} {sentence}")
            raise Mistake(f"rank {rank}: the gradient of {name} is not the mean over the ranks")
        if not same:
            raise Mistake(f"rank {rank}: a weight has changed: average the gradients alone")


def near(found, expected):
    return found is not None and (found - expected).abs().max() <= 1e-5 * expected.abs().max()
