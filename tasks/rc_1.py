"""RC-1: build all-reduce as a ring of messages."""

import random

import torch
import torch.distributed as dist

from tasks._messages import noted, world_of

HINTS = (
    "Take three ranks, and a tensor of three parts A, B, C. In step 0 rank r sends part r to the "
    "right. Which part arrives from the left? Add it, and send that one on in step 1. Which part "
    "is finished on rank r after the last step?",
    "Cut with tensor.flatten().tensor_split(world_size). Reduce-scatter: in step s, send part (r "
    "- s) % n to rank r + 1, and add what arrives to part (r - s - 1) % n. All-gather: send part "
    "(r + 1 - s) % n, receive part (r - s) % n into its place. Start a send, receive, then wait "
    "for it. At the end copy the flat tensor back; add up part.nbytes as you send.",
)
NAME = "{what}, world_size {world}"
LESSON, MINUTES, RANKS = "data_parallel_gradients", 40, 4


def observe(module, case):
    """On each rank that takes part: the tensor afterwards, and whether it sends as a ring does."""
    rank, world = dist.get_rank(), case["world"]
    if rank >= world:
        return None
    tensor, returned = case["tensors"][rank].clone(), None
    if case["what"] == TRANSPOSED:
        tensor = tensor.t().contiguous().t()
    with noted(alone=world == 1) as calls, world_of(world):
        returned = module.ring_all_reduce(tensor, rank, world)
    sends = [(call["to"], call["bytes"]) for call in calls if "to" in call]
    sent = sum(size for _, size in sends)
    most = 2 * (world - 1) * -(-tensor.numel() // world) * tensor.itemsize
    return {
        "tensor": tensor,
        "collectives": [call["call"] for call in calls if len(call) == 1],
        "messages not waited for": [c["call"] for c in calls if not c.get("awaited", True)],
        "ranks it sends to that are no neighbors": [
            peer for peer, _ in sends if (peer - rank) % world not in (1, world - 1)
        ],
        "sends something": bool(sends),
        "sends more than a ring": sent > most and tensor.numel() > 1000,
        "returns what it sent": (returned or 0) == sent and (returned is not None or world == 1),
        "_sent": sent,
        "_returned": returned,
    }


WORLDS = (4, 3)
LONG = 10_007  # numbers in the tensor whose bytes are judged
POWERS, TRANSPOSED = "powers of ten", "a transposed tensor"


def cases():
    """For each number of ranks, tensors of all kinds; at last a rank that is alone.

    Of the powers of ten, a rank has 10 to its number, so that the digits of a sum show its parts.
    """
    found = []
    for world in WORLDS:
        kinds = {
            POWERS: ((world * random.randint(2, 4) + world - 1,), torch.float64),
            "an odd length": ((2 * random.randint(8, 30) + 1,), torch.float32),
            "two dimensions, in float64": ((3, random.randint(4, 9)), torch.float64),
            "fewer numbers than ranks": ((world - 1,), torch.float32),
            "one number, of shape ()": ((), torch.float64),
            TRANSPOSED: ((random.randint(2, 4), 5), torch.float32),
            "whole numbers": ((random.randint(9, 20),), torch.int64),
            "a long tensor": ((LONG,), torch.float32),
        }
        if world < max(WORLDS):  # a collective on it isn't noted, and would wait for the others
            del kinds[TRANSPOSED]
        for what, (shape, dtype) in kinds.items():
            tensors = [1000 * torch.randn(shape).double() for _ in range(world)]
            if what == POWERS:
                tensors = [torch.full(shape, 10.0**rank).double() for rank in range(world)]
            tensors = [tensor.to(dtype) for tensor in tensors]
            found.append({"world": world, "what": what, "tensors": tensors})
    return [*found, {"world": 1, "what": "a rank that is alone", "tensors": [torch.ones(5)]}]


PARTS, BACK = "flat.tensor_split(world_size)", "tensor.detach().copy_(flat.view(tensor.shape))"
SHORT = "len(flat) // world_size"
FIRST, SECOND = (f"range(world_size - 1):  # {half}" for half in ("reduce-scatter", "all-gather"))
MUTANTS = {
    (BACK, "pass"): "a transposed tensor has not changed: flatten() gives a copy where the memory "
    "has gaps, so the sum must be copied back into `tensor`",
    (("tensor.detach().flatten()", "tensor.flatten().clone()"), (BACK, "")): "the tensor has not "
    "changed: the sum belongs into `tensor` itself (tensor.copy_(…)), a new tensor is seen by "
    "nobody",
    (BACK, "tensor.detach().copy_(flat.view(tensor.shape) / world_size)"): "this is the mean: "
    "all-reduce gives the sum, so do not divide by world_size",
    (PARTS, f"[flat[r * ({SHORT}) :][: {SHORT}] for r in range(world_size)]"): "the last numbers "
    "are not added up, as the length cannot be divided by world_size: some parts must be longer "
    "than others (tensor_split does that)",
    (SECOND, "range(0):"): "each number is finished on one rank only: that is the reduce-scatter; "
    "the all-gather, which passes the finished parts on, is missing",
    ("add_(arrived)", "copy_(arrived)"): "every number is that of one rank alone: in the "
    "reduce-scatter add what arrives to this rank's own part, and begin the all-gather with part "
    "rank + 1, which is the finished one",
    ((FIRST, "range(world_size - 2):"), (SECOND, "range(world_size - 2):")): "there is a step too "
    "few: each part must get round to all other ranks, in n - 1 steps",
}


def explain(case, seen):
    """Name the call, the number or the message that is wrong; None where only the place says it."""
    n, ranks = case["world"], seen[: case["world"]]
    if n == 1:
        sends = ranks[0]["collectives"] or ranks[0]["_returned"]
        what = "something is sent" if sends else "the tensor changes"
        return f"{what}: a rank that is alone has the sum"
    for rank, one in enumerate(ranks):
        called, begun = one["collectives"], one["messages not waited for"]
        far, sent = one["ranks it sends to that are no neighbors"], one["_sent"]
        times, least = sent / case["tensors"][0].nbytes, 2 * (n - 1) / n
        wrong = wrong_number(case, one["tensor"])
        rules = {
            f"calls dist.{''.join(called[:1])}: build the ring from messages between neighbors "
            "(send, recv, isend, irecv, batch_isend_irecv)": called,
            f"starts {''.join(begun[:1])} and never calls wait() on its result: until wait() "
            "returns, the message is on its way and its tensor must not change": begun,
            wrong: wrong,
            f"sends to rank {', '.join(map(str, far))}, which is not its neighbor in the ring of "
            f"{n}: send to (rank + 1) % world_size only": far,
            "sends nothing, and the others need its numbers: build the ring of messages":
                not one["sends something"],
            f"sends {times:.2f} times the size of the tensor, and a ring of {n} needs {least:.2f}: "
            f"send one part in each of {2 * (n - 1)} steps": one["sends more than a ring"],
            f"has sent {sent} bytes, and ring_all_reduce gives {one['_returned']}: add up "
            "part.nbytes of each part that is sent, and return the sum":
                not one["returns what it sent"],
        }  # fmt: skip
        if broken := [sentence for sentence, wrong in rules.items() if wrong]:
            return f"rank {rank} {broken[0]}"


def wrong_number(case, tensor):
    """What a sum of powers of ten is made of, where it's wrong; whether others were rounded."""
    total = sum(tensor.double() for tensor in case["tensors"])
    if tensor.dtype != torch.float64 or tensor.shape != total.shape:
        return None
    off = (tensor - total).abs()
    if case["what"] == POWERS and off.any():
        i = int(off.argmax())
        held = in_digits(float(tensor[i]), case["world"])
        return f"holds {held} as number {i}: follow this one part round the ring, step by step"
    worst = float(off.max() / total.abs().max().clamp(min=1))
    if 1e-9 < worst < 1e-6:
        return (
            f"is off by {worst:.0e} of the sum in float64, which is float32's accuracy: a buffer "
            "on the way has another type (torch.empty_like keeps it)"
        )


def in_digits(value, world):
    """What a sum of powers of ten was made of, in words: the third digit counts rank 2."""
    counts = [int(digit) for digit in reversed(f"{round(value):0{world}d}")] if value >= 0 else []
    if value != round(value) or not 0 < len(counts) <= world:
        return f"{value:g}, which is no sum of what the ranks had"
    words = [f"that of rank {r}" + f" {n} times" * (n > 1) for r, n in enumerate(counts) if n]
    missing = [str(rank) for rank, count in enumerate(counts) if not count]
    nothing = f", and nothing of rank {', '.join(missing)}" if missing else ""
    return (" plus ".join(words) or "nothing") + nothing
