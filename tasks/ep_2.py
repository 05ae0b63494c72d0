"""EP-2: which gradient is averaged over which ranks."""

import torch
import torch.distributed as dist

from helpers.grade import Task

TASK = Task(
    title="average each gradient over the ranks that hold the same weights",
    file="EP/experts/intro_EP.py",
    function="average_gradients",
    lesson="experts",
    kind="evidence",
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


EP = 2  # ranks that share the experts; the other two are their replicas
REST = (
    "layers.0.self_attn.o_proj.weight",
    "layers.0.mlp.router.gate.weight",
    "layers.0.mlp.shared.down_proj.weight",
)


def observe(module, case):
    """On a rank: each gradient after the average. case: the gradients of each rank, by name."""
    net = torch.nn.Module()
    for name, gradient in case[dist.get_rank()].items():
        module_of, *path, last = net, *name.split(".")
        for part in path:
            if part not in module_of._modules:
                module_of.add_module(part, torch.nn.Module())
            module_of = module_of._modules[part]
        p = torch.nn.Parameter(torch.zeros_like(gradient))
        p.grad = gradient.clone()
        module_of.register_parameter(last, p)
    _, replicas = module.make_groups(EP)
    module.average_gradients(net, replicas)
    return {name: p.grad for name, p in net.named_parameters()}


def cases(seed):
    """Draw gradients on four ranks: two hold experts 0 and 1, and two hold 2 and 3."""
    draw = torch.Generator().manual_seed(seed)
    rows = int(torch.randint(2, 5, (), generator=draw))

    def some(names):
        return {n: torch.randint(-90, 90, (rows, 3), generator=draw).double() for n in names}

    def experts(rank):
        return [f"layers.0.mlp.experts.{2 * (rank % EP) + n}.up_proj.weight" for n in range(2)]

    return [[some([*REST, *experts(rank)]) for rank in range(TASK.ranks)]]


GROUP = "group=replicas if is_expert(name) else None"
SUM, DIVIDE = f"dist.all_reduce(p.grad, {GROUP})", "p.grad /= dist.get_world_size()"
MUTANTS = {
    (GROUP, "group=None"): "an expert's gradient is added up over all ranks, and so mixed with the "
    "gradients of other experts: only its replicas hold the same one",
    (SUM, "if not is_expert(name):\n    dist.all_reduce(p.grad)"): "the replicas of an expert have "
    "different gradients: add them up over `replicas`, or the copies drift apart, which no loss "
    "curve shows",
    (DIVIDE, f"p.grad /= dist.get_world_size({GROUP})"): f"an expert's gradient is {EP} times too "
    f"large: it was divided by its {TASK.ranks // EP} replicas, and it is the sum over "
    f"{TASK.ranks} ranks. Adam hides such a factor from the loss curve",
    (DIVIDE, "pass"): f"all gradients are sums, {TASK.ranks} times too large: divide by the number "
    "of ranks",
    (DIVIDE, f"if not is_expert(name):\n    {DIVIDE}"): "an expert's gradient isn't divided: it is "
    "the sum over all ranks' tokens",
    (SUM, f"if is_expert(name):\n    continue\n{SUM}"): "an expert's gradient is left as it was: "
    "it belongs to the mean over all ranks too",
    (
        (SUM, "dist.all_reduce(p.grad, group=replicas)"),
        (DIVIDE, "p.grad /= dist.get_world_size(None if is_expert(name) else replicas)"),
    ): "router and attention are averaged over the replicas of the experts only: they are the same "
    "on every rank, so add them up over all",
    (SUM, f"if not is_expert(name):\n    continue\n{SUM}"): "router and attention are left as they "
    "were: the ranks' copies drift apart",
}
