"""EP-2: the mean over all ranks' losses, and the ways to miss it, most of which a curve hides."""

import torch

RANKS, EP = 4, 2
REPLICAS = RANKS // EP
REST = (
    "layers.0.self_attn.o_proj.weight",
    "layers.0.mlp.router.gate.weight",
    "layers.0.mlp.shared.down_proj.weight",
)


def cases(seed):
    """Draw gradients on four ranks: two hold experts 0 and 1, and two hold 2 and 3."""
    draw = torch.Generator().manual_seed(seed)
    rows = int(torch.randint(2, 5, (), generator=draw))

    def some(names):
        return {n: torch.randint(-90, 90, (rows, 3), generator=draw).double() for n in names}

    def experts(rank):
        return [f"layers.0.mlp.experts.{2 * (rank % EP) + n}.up_proj.weight" for n in range(2)]

    return [{"ep": EP, "gradients": [some([*REST, *experts(rank)]) for rank in range(RANKS)]}]


def everyone(rank):
    return range(RANKS)


def replicas(rank):
    return range(rank % EP, RANKS, EP)


def alone(rank):
    return [rank]


def truth(case, over=replicas, divide=RANKS, rest=everyone, divide_rest=RANKS):
    """What each rank has. over, rest: the ranks whose experts and whose other weights are added."""
    found = []
    for rank in range(RANKS):
        mine = {}
        for place, name in enumerate(case["gradients"][rank]):
            expert = ".experts." in name
            terms = [
                list(case["gradients"][other].values())[place]  # another expert has its place
                for other in (over if expert else rest)(rank)
            ]
            mine[name] = sum(terms) / (divide if expert else divide_rest)
        found.append(mine)
    return found


MISTAKES = {
    "an expert's gradient is added up over all ranks, and so mixed with the gradients of other "
    "experts: only its replicas hold the same one": {"over": everyone},
    "the replicas of an expert have different gradients: add them up over `replicas`, or the "
    "copies drift apart, which no loss curve shows": {"over": alone},
    f"an expert's gradient is {EP} times too large: it was divided by its {REPLICAS} replicas, and "
    f"it is the sum over {RANKS} ranks. Adam hides such a factor from the loss curve": {
        "divide": REPLICAS
    },
    f"all gradients are sums, {RANKS} times too large: divide by the number of ranks": {
        "divide": 1,
        "divide_rest": 1,
    },
    "an expert's gradient isn't divided: it is the sum over all ranks' tokens": {"divide": 1},
    "an expert's gradient is left as it was: it belongs to the mean over all ranks too": {
        "over": alone,
        "divide": 1,
    },
    "router and attention are averaged over the replicas of the experts only: they are the same on "
    "every rank, so add them up over all": {"rest": replicas, "divide_rest": REPLICAS},
    "router and attention are left as they were: the ranks' copies drift apart": {
        "rest": alone,
        "divide_rest": 1,
    },
}
