"""RC-1: the sum over all ranks, by messages of a ring.

Many ways to send the messages are right: the ring may turn to the left, and parts may have other
lengths. So `truth` is one of them, and `explain` looks at the facts of any.
"""

import random

import torch

WORLDS = (4, 3)
LONG = 10_007  # numbers in the tensor whose bytes are judged


def cases(seed):
    """For each number of ranks, tensors of all kinds; at last a rank that is alone.

    Of the digits, a rank has 10 to the power of its number, so that a sum shows its parts.
    """
    draw, values = random.Random(seed), torch.Generator().manual_seed(seed)
    found = []
    for world in WORLDS:
        digits = world * draw.randint(2, 4) + world - 1
        kinds = {
            "digits": ((digits,), torch.float64),
            "an odd length": ((2 * draw.randint(8, 30) + 1,), torch.float32),
            "two dimensions, in float64": ((3, draw.randint(4, 9)), torch.float64),
            "fewer numbers than ranks": ((world - 1,), torch.float32),
            "one number, of shape ()": ((), torch.float64),
            "a transposed tensor": ((draw.randint(2, 4), 5), torch.float32),
            "whole numbers": ((draw.randint(9, 20),), torch.int64),
            "a long tensor": ((LONG,), torch.float32),
        }
        if world < max(WORLDS):  # a collective on it isn't noted, and would wait for the others
            del kinds["a transposed tensor"]
        for what, (shape, dtype) in kinds.items():
            tensors = [1000 * torch.randn(shape, generator=values).double() for _ in range(world)]
            if what == "digits":
                tensors = [torch.full(shape, 10.0**rank).double() for rank in range(world)]
            found.append({"world": world, "what": what, "gaps": what == "a transposed tensor"})
            found[-1]["tensors"] = [tensor.to(dtype) for tensor in tensors]
    alone = {"world": 1, "what": "a rank that is alone", "gaps": False}
    return [*found, alone | {"tensors": [torch.ones(5)]}]


def truth(case, add=True, first=1, steps=1):
    """What each rank has and sends; and with one of the known mistakes.

    first: the all-gather begins with part rank + first. steps: how many fewer than the ranks.
    """
    n = case["world"]
    flat = [tensor.flatten() for tensor in case["tensors"]]
    parts = [list(tensor.clone().tensor_split(n)) for tensor in flat]
    sends = [[] for _ in range(n)]
    for phase, shift in enumerate((0, first)):
        for step in range(max(0, n - steps)):
            moving = [parts[rank][(rank + shift - step) % n].clone() for rank in range(n)]
            for rank, part in enumerate(moving):
                right = (rank + 1) % n
                theirs = parts[right][(rank + shift - step) % n]
                theirs.copy_(theirs + part if add and phase == 0 else part)
                sends[rank].append((right, part.nbytes))
    return [
        {
            "tensor": torch.cat(parts[rank]).view(case["tensors"][0].shape),
            "returned": sum(size for _, size in sends[rank]),
            "sends": sends[rank],
            "refused": [],
            "not awaited": [],
        }
        for rank in range(n)
    ] + [None] * (max(WORLDS) - n)


MISTAKES = {
    "what arrives is kept and not added: in the reduce-scatter, add it to this rank's own part": {
        "add": False
    },
    "the all-gather begins with the wrong part: after the reduce-scatter, part rank + 1 is the "
    "finished one on each rank": {"first": 0},
    "there is a step too few: each part must get round to all other ranks, in n - 1 steps": {
        "steps": 2
    },
}


def agrees(case, seen):
    return explain(case, seen) is None


def explain(case, seen):
    ranks = seen[: case["world"]]
    if case["world"] == 1:
        return wrong_alone(case, ranks[0])
    return (
        wrong_calls(ranks)
        or (wrong_digits([one["tensor"] for one in ranks]) if case["what"] == "digits" else None)
        or wrong_sum(case, ranks)
        or wrong_messages(case, ranks)
    )


def wrong_calls(ranks):
    """Whether only messages were used, and all were waited for."""
    for rank, one in enumerate(ranks):
        if one["refused"]:
            return (
                f"rank {rank} calls dist.{one['refused'][0]}: build the ring from messages between "
                "neighbors (send, recv, isend, irecv, batch_isend_irecv)"
            )
        if one["not awaited"]:
            return (
                f"rank {rank} starts {one['not awaited'][0]} and never calls wait() on its result: "
                "until wait() returns, the message is on its way and its tensor must not change"
            )
    return None


def wrong_digits(ranks):
    """What went wrong, read from the digits: the third from the right counts rank 2."""
    world, length = len(ranks), ranks[0].numel()
    total = sum(10.0**rank for rank in range(world))
    if all(bool((tensor == total).all()) for tensor in ranks):
        return None
    here = f"with {world} ranks and {length} numbers"
    if all(bool((tensor == 10.0**rank).all()) for rank, tensor in enumerate(ranks)):
        return (
            f"the tensor has not changed, {here}: the sum belongs into `tensor` itself "
            "(tensor.copy_(…)), a new tensor is seen by nobody"
        )
    if any(bool((tensor == total / world).any()) for tensor in ranks):
        return "this is the mean: all-reduce gives the sum, so do not divide by world_size"
    done = [sum(bool(tensor[i] == total) for tensor in ranks) for i in range(length)]
    rest = length - length % world
    if all(count == world for count in done[:rest]) and not any(done[rest:]):
        return (
            f"the last {length - rest} numbers are not added up, {here}: {length} cannot be "
            f"divided by {world}, so some parts must be longer than others (tensor_split does that)"
        )
    if all(count == 1 for count in done):
        return (
            f"each number is finished on one rank only, {here}: that is the reduce-scatter; the "
            "all-gather, which passes the finished parts on, is missing"
        )
    rank, i = next(
        (rank, i) for i in range(length) for rank in range(world) if ranks[rank][i] != total
    )
    return (
        f"number {i} on rank {rank} holds {in_digits(float(ranks[rank][i]), world)}, {here}: "
        "follow this one part round the ring, step by step"
    )


def in_digits(value, world):
    """What a sum of powers of ten was made of, in words."""
    counts = [int(digit) for digit in reversed(f"{round(value):0{world}d}")] if value >= 0 else []
    if value != round(value) or not 0 < len(counts) <= world:
        return f"{value:g}, which is no sum of what the ranks had"
    words = [
        f"that of rank {rank}{' twice' if count == 2 else f' {count} times' * (count > 2)}"
        for rank, count in enumerate(counts)
        if count
    ]
    missing = [str(rank) for rank, count in enumerate(counts) if not count]
    told = " plus ".join(words) or "nothing"
    return told + (f", and nothing of rank {', '.join(missing)}" if missing else "")


def wrong_sum(case, ranks):
    """Whether every rank holds the sum, to rounding."""
    before, what = case["tensors"], case["what"]
    total = sum(tensor.double() for tensor in before)
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12}.get(before[0].dtype, 0.0)
    for rank, tensor in enumerate(one["tensor"] for one in ranks):
        if tensor.shape != total.shape or tensor.dtype != before[0].dtype:
            return f"shape or dtype of the tensor has changed on rank {rank} ({what})"
        worst = (tensor.double() - total).abs().max().item() / total.abs().max().clamp(min=1).item()
        if worst <= tolerance:
            continue
        if case["gaps"] and torch.equal(tensor, before[rank]):
            return (
                "a transposed tensor has not changed: flatten() gives a copy where the memory has "
                "gaps, so the sum must be copied back into `tensor`"
            )
        if tensor.dtype == torch.float64 and worst < 1e-6:
            return (
                f"rank {rank} is off by {worst:.0e} of the sum in float64, which is "
                "float32's accuracy: a buffer on the way has another type (torch.empty_like keeps "
                "it)"
            )
        return (
            f"rank {rank} is off by {worst:.2g} of the largest sum with {what}, {len(ranks)} ranks"
        )
    return None


def wrong_messages(case, ranks):
    """Whether the messages are those of a ring: to neighbors, and few bytes."""
    world, tensor = len(ranks), case["tensors"][0]
    for rank, one in enumerate(ranks):
        far = [peer for peer, _ in one["sends"] if (peer - rank) % world not in (1, world - 1)]
        if far:
            return (
                f"rank {rank} sends to rank {far[0]}, which is not its neighbor in the ring of "
                f"{world}: send to (rank + 1) % world_size only"
            )
        if not one["sends"]:
            return (
                f"rank {rank} sends nothing ({case['what']}, {world} ranks), and the others need "
                "its numbers: build the ring from messages"
            )
        sent = sum(size for _, size in one["sends"])
        most = 2 * (world - 1) * -(-tensor.numel() // world) * tensor.itemsize
        if sent > most and case["what"] == "a long tensor":
            return (
                f"rank {rank} sends {sent / tensor.nbytes:.2f} times the size of the tensor, and a "
                f"ring of {world} needs {2 * (world - 1) / world:.2f}: send one part in each of "
                f"{2 * (world - 1)} steps"
            )
        if one["returned"] is None:
            return "ring_all_reduce gives None: return the bytes that this rank has sent"
        if one["returned"] != sent:
            return (
                f"ring_all_reduce says that rank {rank} has sent {one['returned']} bytes, and it "
                f"was {sent} ({case['what']}, {world} ranks): add up part.nbytes of each part that "
                "is sent"
            )
    return None


def wrong_alone(case, one):
    """Whether a rank that is alone keeps its tensor and sends nothing."""
    if one["refused"] or one["returned"]:
        return "with world_size 1 something is sent: a rank that is alone has the sum"
    if not torch.equal(one["tensor"], case["tensors"][0]):
        return "with world_size 1 the tensor changes: a rank that is alone has the sum"
    return None
