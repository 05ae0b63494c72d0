"""EP-2: which gradient is averaged over which ranks."""

from helpers.grade import Task

TASK = Task(
    id="EP-2",
    title="average each gradient over the ranks that hold the same weights",
    file="EP/experts/intro_EP.py",
    function="average_gradients",
    notebook="14",
    points=15,
    minutes=20,
    ranks=4,
    hints=(
        "The loss is the mean of all ranks' losses. Write the gradient of one weight of the router "
        "as a sum over ranks, and that of one weight of an expert. Which terms does a "
        "rank's p.grad hold already, and which ranks have the others?",
        "Router, attention, norms: add up over all ranks. Experts: add up over `replicas`, "
        "because the all-to-all has brought in the gradients of all ranks that share them. By how "
        "much must either sum be divided to be a mean over all ranks?",
        "For each name, p of net.named_parameters(): dist.all_reduce(p.grad, group=replicas if "
        "is_expert(name) else None), and p.grad /= dist.get_world_size() for all of them.",
    ),
)


def run(module, case):
    """On a rank: each gradient after the average. case: ep; the gradients of each rank, by name."""
    import torch
    import torch.distributed as dist

    net = torch.nn.Module()
    for name, gradient in case["gradients"][dist.get_rank()].items():
        module_of, *path, last = net, *name.split(".")
        for part in path:
            if part not in module_of._modules:
                module_of.add_module(part, torch.nn.Module())
            module_of = module_of._modules[part]
        p = torch.nn.Parameter(torch.zeros_like(gradient))
        p.grad = gradient.clone()
        module_of.register_parameter(last, p)
    _, replicas = module.make_groups(case["ep"])
    module.average_gradients(net, replicas)
    return {name: p.grad for name, p in net.named_parameters()}
