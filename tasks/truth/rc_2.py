"""RC-2: the left neighbor's tensor; which calls bring it, and to whom.

A way without waiting may start the send, the receive, or both, so `explain` looks at the calls of
any program, and the mistakes are told of one with isend. A wrong order isn't seen here: the ranks
deadlock, and say so themselves.
"""

import torch

from helpers.grade.verify import same

WORLDS = (4, 3)  # even and odd: in a ring of 3 two even ranks are neighbors
WAYS = {
    "exchange_in_order": ("send", "recv"),
    "exchange_without_waiting": ("isend", "recv"),
    "exchange_in_a_batch": ("isend", "irecv"),
}
BATCH = "batch_isend_irecv"


def cases(seed):
    """Of each function: another shape and type each time."""
    values = torch.Generator().manual_seed(seed)
    shapes = {
        (2 + seed % 5,): torch.float32,
        (3, 2): torch.float64,
        (): torch.float32,
        (4, 1, 2): torch.int64,
    }
    return [
        {
            "world": world,
            "function": function,
            "tensors": [
                (1000 * torch.randn(shape, generator=values)).to(dtype) for _ in range(world)
            ],
        }
        for world in WORLDS
        for function in WAYS
        for shape, dtype in shapes.items()
    ]


def truth(case, step=1, returned="theirs", mine="own", calls=True):
    """What each rank has and calls; and with one of the known mistakes."""
    world, batch = case["world"], case["function"] == "exchange_in_a_batch"
    found = []
    for rank, own in enumerate(case["tensors"]):
        theirs = case["tensors"][(rank - step) % world]
        known = {"own": own, "theirs": theirs, "nothing": torch.zeros_like(own)}
        found.append({"returned": known[returned], "mine": known[mine], "calls": []})
        there, here = {"to": (rank + step) % world}, {"from": (rank - step) % world}
        for call, peer in zip(WAYS[case["function"]], (there, here), strict=True):
            facts = {"bytes": own.nbytes, "batch": batch, "awaited": True}
            found[-1]["calls"] += [{"call": call, **peer, **facts}] if calls else []
    return found + [None] * (max(WORLDS) - world)


MISTAKES = {
    "nothing is sent, and nothing is received": {"returned": "nothing", "calls": False},
    "every rank sends to the left and receives from the right: give `mine` to the right "
    "neighbor, and get the tensor of the left one": {"step": -1},
    "the function gives back the rank's own tensor: return the one that was received": {
        "returned": "own"
    },
    "`mine` has changed: receive into a tensor of its own, torch.empty_like(mine)": {
        "mine": "theirs"
    },
}


def name(case):
    return f"{case['function']}, {case['world']} ranks"


def agrees(case, seen):
    return explain(case, seen) is None


def explain(case, seen):
    for rank, one in enumerate(seen[: case["world"]]):
        wrong = (
            wrong_way(case["function"], one["calls"])
            or wrong_messages(rank, case["world"], one["calls"])
            or wrong_values(case["tensors"], rank, one)
        )
        if wrong:
            return f"rank {rank} {wrong}"
    return None


def wrong_way(function, calls):
    """Whether the messages went the way that the function is named after."""
    names = [call["call"] for call in calls]
    batched = [call["call"] for call in calls if call.get("batch")]
    waiting = [name for name in names if name in ("send", "recv")]
    for call in calls:
        if "awaited" not in call:
            return f"calls dist.{call['call']}: neighbors exchange messages here"
    if function == "exchange_in_order" and (batched or len(waiting) < len(names)):
        used = BATCH if batched else next(name for name in names if name not in waiting)
        return (
            f"uses {used}: this way has dist.send and dist.recv only, and it is their order that "
            "cures"
        )
    if function == "exchange_without_waiting" and batched:
        return f"uses {BATCH}: this way starts the send with dist.isend"
    if function == "exchange_without_waiting" and names and len(waiting) == len(names):
        return (
            f"uses {' and '.join(waiting)}, which both wait: start the send with dist.isend, which "
            "returns at once"
        )
    if function == "exchange_in_a_batch" and len(batched) < len(names):
        single = next(call["call"] for call in calls if not call["batch"])
        return (
            f"calls {single} outside of a batch: give the send and the receive to one dist.{BATCH}"
        )
    for call in calls:
        if not call["awaited"]:
            return (
                f"starts {call['call']} and never calls wait() on its result: until wait() "
                "returns, the message is on its way and its tensor must not change"
            )
    return None


def wrong_messages(rank, world, calls):
    """Whether there was one message to the right, and one from the left."""
    left, right = (rank - 1) % world, (rank + 1) % world
    sends = [call["to"] for call in calls if "to" in call]
    receives = [call["from"] for call in calls if "from" in call]
    if sends == [right] and receives in ([left], [None]):
        return None
    return (
        f"sends to {listed(sends)} and receives from {listed(receives)}: one message to the right, "
        f"rank {right}, and one from the left, rank {left}, are enough"
    )


def listed(ranks):
    """[1, 2] -> "ranks 1 and 2"."""
    names = ["any rank" if rank is None else str(rank) for rank in ranks]
    if len(names) < 2:
        return f"rank {names[0]}" if names else "nobody"
    return f"ranks {', '.join(names[:-1])} and {names[-1]}"


def wrong_values(before, rank, one):
    """Whether the left neighbor's tensor came, and `mine` stayed."""
    theirs, expected = one["returned"], before[rank - 1]
    if theirs is None:
        return "gives None: is there a return?"
    if not isinstance(theirs, torch.Tensor):
        return f"gives a {type(theirs).__name__}, and must give the tensor that came"
    if not same(before[rank], one["mine"], 0):
        return "has changed `mine`: receive into a tensor of its own, torch.empty_like(mine)"
    if same(expected, theirs, 0):
        return None
    shape, wanted = tuple(theirs.shape), tuple(expected.shape)
    if (shape, theirs.dtype) != (wanted, expected.dtype):
        return (
            f"gives shape {shape} and {theirs.dtype}, and sent was {wanted} and {expected.dtype}: "
            "receive into torch.empty_like(mine)"
        )
    return "gives other numbers than the left neighbor has sent"
