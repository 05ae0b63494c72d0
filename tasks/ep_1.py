"""EP-1: send tokens to their experts, and the results back."""

from helpers.grade import Task

TASK = Task(
    id="EP-1",
    title="send tokens to where their experts are, and the results back",
    file="EP/experts/dispatch.py",
    function="Dispatch.run",
    also=("AllToAll.forward", "AllToAll.backward"),
    notebook="14",
    points=20,
    minutes=30,
    ranks=3,
    hints=(
        "Write down, for two ranks with two experts each, which rows rank 0 has after the first "
        "exchange, and from whom. In which order are they, and in which order does run_experts "
        "need them? Backward, every row goes the way it came.",
        "counts.view(self.ranks, -1) has a row for each rank: its sum over dimension 1 is `give`. "
        "dist.all_to_all_single(theirs, counts, group=self.group) sends these rows, so "
        "theirs.view(self.ranks, -1) is what each rank sends to each expert here. Number the rows "
        "that arrive by their expert and argsort(stable=True) them; the argsort of that order "
        "undoes it.",
        "AllToAll: link.send(x, give, take) forward, ctx.link.send(gradient, ctx.take, ctx.give) "
        "and three None backward. run: arrived = AllToAll.apply(rows, give, take, self); order = "
        "the experts' numbers, repeat_interleave(theirs.flatten()), argsort(stable=True); done = "
        "run_experts(experts, arrived[order], theirs.sum(0)); AllToAll.apply(done[order.argsort()],"
        " take, give, self).",
    ),
)


def run(module, case):
    """On a rank: what comes back for its rows, the gradients of rows and of its experts, and
    whether all that leaves it goes to the group of the Dispatch, which holds the same ranks as the
    default one.

    case: the weight of each of all experts; for each rank rows, counts, and the gradient of y.
    """
    import torch
    import torch.distributed as dist

    from tasks._sent import noting_what_leaves

    class Expert(torch.nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.weight = torch.nn.Parameter(weight.clone())

        def forward(self, x):
            return x @ self.weight

    rank, ranks = dist.get_rank(), dist.get_world_size()
    own = case["weights"].chunk(ranks)[rank]
    experts = torch.nn.ModuleDict({str(n): Expert(weight) for n, weight in enumerate(own)})
    rows = case["rows"][rank].clone().requires_grad_()
    grad, group = case["grads"][rank], dist.new_group()
    with noting_what_leaves() as sent:
        y = module.Dispatch(group).run(experts, rows, case["counts"][rank].clone())
        if y.shape == grad.shape and y.requires_grad:
            (y * grad).sum().backward()
    return {
        "y": y.detach().clone(),
        "the gradient of rows": rows.grad,
        "the gradients of the experts": [expert.weight.grad for expert in experts.values()],
        "in its group": all(one["group"] == group.group_name for one in sent),
    }
