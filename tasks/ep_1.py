"""EP-1: send tokens to where their experts are, and the results back."""

import torch
import torch.distributed as dist

from tasks._sent import noting_what_leaves

HINTS = (
    "Write down, for two ranks with two experts each, which rows rank 0 has after the first "
    "exchange, and from whom. In which order are they, and in which order does run_experts need "
    "them? Backward, every row goes the way it came.",
    "counts.view(self.ranks, -1) has a row for each rank, whose sum it gets; all_to_all_single of "
    "counts gives theirs. AllToAll: link.send(x, give, take) forward, ctx.link.send(gradient, "
    "ctx.take, ctx.give) and three None backward. run: send the rows; order = the experts' "
    "numbers, repeat_interleave(theirs.flatten()), argsort(stable=True); run_experts on "
    "arrived[order] with theirs.sum(0); send done[order.argsort()] back.",
)
LESSON, MINUTES, RANKS = "experts", 45, 3
FUNCTIONS = ("Dispatch.run", "AllToAll.forward", "AllToAll.backward")
LOCAL, WIDTH = 2, 3  # experts on a rank, features


class Expert(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = torch.nn.Parameter(weight.clone())

    def forward(self, x):
        return x @ self.weight


def observe(module, case):
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


def cases():
    """Draw rows for every expert, and then a case in which one rank sends and gets nothing."""

    def some(*shape):
        return torch.randint(-9, 10, shape).double()

    def case(counts):
        sizes = [int(each.sum()) for each in counts]
        found = {"weights": some(RANKS * LOCAL, WIDTH, WIDTH), "counts": list(counts)}
        return found | {key: [some(size, WIDTH) for size in sizes] for key in ("rows", "grads")}

    counts = torch.randint(1, 5, (RANKS, RANKS * LOCAL))
    few = counts.clone()
    few[1] = 0  # rank 1 has no token …
    few[:, -LOCAL:] = 0  # … and rank 2 no expert that anybody wants
    return [case(counts), case(few) | {"name": "a rank without tokens"}]


THERE, DONE = "AllToAll.apply(rows, give, take, self)", "done[by_expert.argsort()]"
EXPERTS = "run_experts(experts, arrived[by_expert], theirs.sum(0))"
HOME = f"AllToAll.apply({DONE}, take, give, self)"
BACK = "ctx.link.send(gradient, ctx.take, ctx.give)"
PAST = "self.send(rows.detach(), give, take)"
OWN = "[experts[str(n % 2)](x) for n, x in enumerate(rows.split(counts.tolist()))]"
MUTANTS = {
    ("counts, group=self.group", "counts"): "the rows are right, and an all-to-all goes to the "
    "default group, all ranks: give group=self.group, or ranks of another group wait for ever",
    (("arrived[by_expert]", "arrived"), (DONE, "done")): "the rows went to the wrong expert: they "
    "arrive sorted by sender, and run_experts needs them sorted by expert",
    (DONE, "done"): "the results came home in the order of the experts: restore the order in which "
    "the rows arrived before you send them back",
    (DONE, "done[by_expert]"): "the results were put in order with the same permutation once more: "
    "its argsort undoes it",
    ((THERE, "rows"), (EXPERTS, OWN), (HOME, "torch.cat(done)")): "no row left its rank: each rank "
    "ran its own experts on tokens that chose others",
    ((THERE, PAST), (HOME, f"self.send({DONE}.detach(), take, give)")): "y is right and nothing "
    "learns: the results come back past autograd; AllToAll.apply would bring their gradients",
    (THERE, PAST): "y is right and the experts learn, but no gradient comes back to the rows: send "
    "them by AllToAll.apply too",
    (BACK, BACK.replace("gradient", f"gradient / {RANKS}")): "y is right, and each way back "
    f"divides the gradient by {RANKS}: a row that was sent once has one gradient, so there is "
    "nothing to average",
}
