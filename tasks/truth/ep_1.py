"""EP-1: dispatch and combine in one process, and what comes out where one step is left out."""

import torch

RANKS, LOCAL, WIDTH = 3, 2, 3


def cases(seed):
    """Draw rows for every expert, and then a case in which one rank sends and gets nothing."""
    draw = torch.Generator().manual_seed(seed)

    def some(*shape):
        return torch.randint(-9, 10, shape, generator=draw).double()

    def case(counts):
        sizes = [int(each.sum()) for each in counts]
        return {
            "weights": some(RANKS * LOCAL, WIDTH, WIDTH),
            "counts": list(counts),
            "rows": [some(size, WIDTH) for size in sizes],
            "grads": [some(size, WIDTH) for size in sizes],
        }

    counts = torch.randint(1, 5, (RANKS, RANKS * LOCAL), generator=draw)
    few = counts.clone()
    few[1] = 0  # rank 1 has no token …
    few[:, -LOCAL:] = 0  # … and rank 2 no expert that anybody wants
    return [case(counts), case(few)]


def name(case):
    return "a rank without tokens" if 0 in map(len, case["rows"]) else ""


class Scaled(torch.autograd.Function):
    """The identity, whose backward divides by the number of ranks."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient / RANKS


def truth(case, by_expert=True, back="argsort", sent=True, there=None, home=None, group=True):
    """What each rank has.

    by_expert: arrived rows are sorted by expert. back: how they get their order back. sent: to
    other ranks at all. there, home: what autograd sees of the two ways ("detach", "scale").
    group: all that is sent goes to the group.
    """
    weights = case["weights"].clone().requires_grad_()
    rows = [x.clone().requires_grad_() for x in case["rows"]]
    ways = {"detach": torch.Tensor.detach, "scale": Scaled.apply, None: lambda x: x}
    if sent:
        ys = _exchanged(case, rows, weights, by_expert, back, ways[there], ways[home])
    else:
        ys = []
        for rank, x in enumerate(rows):
            parts = x.split(case["counts"][rank].tolist())
            own = weights.chunk(RANKS)[rank]
            ys.append(torch.cat([part @ own[n % LOCAL] for n, part in enumerate(parts)]))
    total = sum((y * grad).sum() for y, grad in zip(ys, case["grads"], strict=True))
    if total.requires_grad:
        total.backward()
    if home is None and there != "detach":  # without rows, a gradient without rows
        grads = [torch.zeros_like(x) if x.grad is None else x.grad for x in rows]
    else:
        grads = [x.grad for x in rows]
    own = [None] * RANKS if weights.grad is None else weights.grad.chunk(RANKS)
    return [
        {
            "y": ys[rank].detach(),
            "the gradient of rows": grads[rank],
            "the gradients of the experts": [None] * LOCAL
            if own[rank] is None
            else list(own[rank]),
            "in its group": group,
        }
        for rank in range(RANKS)
    ]


def _exchanged(case, rows, weights, by_expert, back, there, home):
    sent = [there(x).split(counts.tolist()) for x, counts in zip(rows, case["counts"], strict=True)]
    returned = [[] for _ in range(RANKS)]
    for rank in range(RANKS):
        local = range(LOCAL * rank, LOCAL * (rank + 1))
        arrived = torch.cat([parts[e] for parts in sent for e in local])
        sizes = torch.stack(
            [counts[LOCAL * rank : LOCAL * (rank + 1)] for counts in case["counts"]]
        )
        numbers = torch.arange(LOCAL).repeat(RANKS).repeat_interleave(sizes.flatten())
        order = numbers.argsort(stable=True)
        parts = (arrived[order] if by_expert else arrived).split(sizes.sum(0).tolist())
        done = torch.cat([part @ weights[e] for part, e in zip(parts, local, strict=True)])
        if by_expert and back:
            done = done[order.argsort() if back == "argsort" else order]
        for other, part in enumerate(home(done).split(sizes.sum(1).tolist())):
            returned[other].append(part)
    return [torch.cat(parts) for parts in returned]


MISTAKES = {
    "the rows are right, and an all-to-all goes to the default group, all ranks: give "
    "group=self.group, or ranks of another group wait for ever": {"group": False},
    "the rows went to the wrong expert: they arrive sorted by sender, and run_experts needs them "
    "sorted by expert": {"by_expert": False},
    "the results came home in the order of the experts: restore the order in which the rows "
    "arrived before you send them back": {"back": None},
    "the results were put in order with the same permutation once more: its argsort undoes it": {
        "back": "order"
    },
    "no row left its rank: each rank ran its own experts on tokens that chose others": {
        "sent": False
    },
    "y is right and nothing learns: the results come back past autograd, through AllToAll.apply "
    "they would bring their gradients": {"there": "detach", "home": "detach"},
    "y is right and the experts learn, but no gradient comes back to the rows: send them by "
    "AllToAll.apply too": {"there": "detach"},
    f"y is right, and each way back divides the gradient by {RANKS}: a row that was sent once has "
    "one gradient, so there is nothing to average": {"there": "scale", "home": "scale"},
}
