"""DP-4: the mean of the gradients, in buckets that leave while backward goes on."""

import torch

from helpers.grade.verify import same

RANKS, STEPS, LAYERS = 3, 3, 3
BUCKETS = LAYERS + 1  # one each, and one for the tied table
# How many gradients come while a bucket is kept that could leave, if all are kept: in step 0 all
# wait for the table, whose gradient is the last; then for the rest after the first two.
HELD = (0, 2 * LAYERS - 1, 2 * LAYERS - 1)


def cases(seed):
    """One model of three layers between a table that is tied, and samples to train it with."""
    draw = torch.Generator().manual_seed(seed)
    width = int(torch.randint(6, 9, (), generator=draw))

    def some(*shape):
        return torch.randn(shape, generator=draw)

    return [
        {
            "table": some(width, width),
            "layers": [(some(width, width) / width, some(width)) for _ in range(LAYERS)],
            "samples": [[some(4, width) for _ in range(RANKS)] for _ in range(STEPS)],
        }
    ]


def own(case, step, rank):
    """The gradients of a rank's own loss."""
    table = case["table"].clone().requires_grad_()
    layers = [[tensor.clone().requires_grad_() for tensor in layer] for layer in case["layers"]]
    x = case["samples"][step][rank] @ table
    for weight, bias in layers:
        x = torch.nn.functional.linear(x, weight, bias)
    (torch.tanh(x) @ table.T).square().mean().backward()
    found = {
        f"middle.{number}.{name}": tensor.grad
        for number, layer in enumerate(layers)
        for name, tensor in zip(("weight", "bias"), layer, strict=True)
    }
    return found | {"tied.table": table.grad}


def truth(case, kept=False, waiting=(0,) * STEPS, times=1, held=(0,) * STEPS, disorder=()):
    """What the ranks see. kept: gradients never enter a bucket. times: a bucket leaves.

    held: how many gradients come in each step while a bucket stays that could leave. disorder: the
    steps in which buckets leave in another order than their own.
    """
    ranks = [{"steps": [], "all-reduces": times * BUCKETS * STEPS} for _ in range(RANKS)]
    for step in range(STEPS):
        all_ = [own(case, step, rank) for rank in range(RANKS)]
        mean = {name: sum(mine[name] for mine in all_) / RANKS for name in all_[0]}
        for rank in range(RANKS):
            gradients = all_[rank] if kept else mean
            seen = {"gradient": gradients, "waiting": waiting[step], "without": []}
            seen |= {"held back": held[step], "in order": step not in disorder}
            ranks[rank]["steps"].append(seen)
    return ranks


MISTAKES = {
    "every gradient is still the rank's own: did its bucket take it?": {"kept": True},
    f"step 0: when backward ends, 1 of {BUCKETS} buckets have left, and nothing is missing in any: "
    "one complete gradient may set several free, so look again after each that leaves": {
        "waiting": (BUCKETS - 1, 0, 0)
    },
    f"when backward ends, 0 of {BUCKETS} buckets have left: each waits for `finish`, and nothing "
    "overlaps with backward": {"waiting": (BUCKETS,) * STEPS, "held": HELD},
    "all buckets leave when the last gradient is there, and nothing overlaps with backward: one "
    "leaves as soon as it and those before it are complete": {"held": HELD},
    "buckets leave in the order in which they become complete, which may differ from rank to rank: "
    "one that is complete waits for those before it, self.next": {"disorder": (0,)},
    "each bucket leaves once, and here each has left twice: call leave once for it": {"times": 2},
    "each bucket leaves once, and here each leaves again in `finish`: does self.next move on when "
    "one has left?": {"waiting": (BUCKETS,) * STEPS, "times": 2},
}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    right, total = truth(case), BUCKETS * STEPS
    if seen[0]["all-reduces"] != total:
        return (
            f"{seen[0]['all-reduces']} all-reduces in {STEPS} steps, and {total} buckets: each "
            "leaves once; does self.next move on when one has left?"
        )
    at = [(step, rank) for step in range(STEPS) for rank in range(RANKS)]
    for step, rank in at:
        if early := seen[rank]["steps"][step]["without"]:
            return (
                f"step {step}, rank {rank}: a bucket leaves before the gradient of {early[0]} is "
                "there, and sends what was there before"
            )
    for step, rank in at:
        found = seen[rank]["steps"][step]["gradient"]
        for name, mean in right[rank]["steps"][step]["gradient"].items():
            if not same(mean, found[name]):
                still = same(own(case, step, rank)[name], found[name])
                return f"step {step}, rank {rank}: the gradient of {name} " + (
                    "is still the rank's own: did its bucket take it?"
                    if still
                    else "is not the mean of the ranks'"
                )
    for step, rank in at:
        if waiting := seen[rank]["steps"][step]["waiting"]:
            return (
                f"step {step}: when backward ends, {BUCKETS - waiting} of {BUCKETS} buckets have "
                "left, and nothing is missing in any"
            )
        if seen[rank]["steps"][step]["held back"]:
            return (
                f"step {step}, rank {rank}: a bucket stays although it and those before it are "
                "complete"
            )
        if not seen[rank]["steps"][step]["in order"]:
            return f"step {step}, rank {rank}: buckets leave in another order than their own"
    return None
