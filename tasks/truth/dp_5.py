"""DP-5: the weights decide, and what was sent says why they are wrong."""

import torch
from torch.nn.functional import linear

from helpers.grade.verify import same

RANKS, STEPS, UNITS = 3, 3, 3


def cases(seed):
    draw = torch.Generator().manual_seed(seed)
    width = int(torch.randint(5, 8, (), generator=draw))

    def some(*shape):
        return torch.randn(shape, generator=draw, dtype=torch.float64)

    return [
        {
            "layers": [(some(width, width) / width**0.5, some(width)) for _ in range(UNITS)],
            "samples": [[some(4, width) for _ in range(RANKS)] for _ in range(STEPS)],
        }
    ]


def start(case):
    return [tensor.clone() for layer in case["layers"] for tensor in layer]


def right(case):
    """The weights after the same steps on one device."""
    weights = [tensor.requires_grad_() for tensor in start(case)]
    optimizer = torch.optim.Adam(weights, lr=1e-2)
    for samples in case["samples"]:
        optimizer.zero_grad()
        x = torch.cat(samples)  # all ranks have equally many, so the mean of means is the mean
        for weight, bias in zip(weights[::2], weights[1::2], strict=True):
            x = linear(x, weight, bias)
        torch.tanh(x).square().mean().backward()
        optimizer.step()
    return [tensor.detach() for tensor in weights]


def agrees(case, seen):
    expected = right(case)
    return all(same(expected, rank["weights"]) for rank in seen)


def explain(case, seen):
    expected = right(case)
    rank = next(r for r in range(RANKS) if not same(expected, seen[r]["weights"]))
    kinds = seen[rank]["sent"]
    count = {kind: kinds.count(kind) for kind in ("reduce-scatter", "all-gather")}
    if not count["reduce-scatter"]:
        return "no unit averages its gradients: call unit.average() for each"
    if not count["all-gather"]:
        return (
            f"rank {rank} has its own part updated, and the parts of the others are old: call "
            "unit.gather() for each unit"
        )
    if same(start(case), seen[rank]["weights"]):
        return (
            "the weights have not changed: does the optimizer take its step, and after the "
            "gradients have been averaged?"
        )
    if min(count.values()) < STEPS * UNITS:
        return (
            f"a unit is left out: there are {UNITS}, and in {STEPS} steps there were "
            f"{count['reduce-scatter']} reduce-scatters and {count['all-gather']} all-gathers"
        )
    if "reduce-scatter" in kinds[kinds.index("all-gather") : 2 * UNITS]:
        return "weights are gathered before all gradients are averaged"
    return (
        f"the weights of rank {rank} are not those of one device: average first, then the "
        "optimizer's step, then gather"
    )
