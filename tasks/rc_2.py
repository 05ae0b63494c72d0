"""RC-2: cure the deadlock in three ways.

A way without waiting may start the send, the receive, or both, so rules look at the calls of any
program. A wrong order isn't seen here: the ranks deadlock, and say so themselves.
"""

import random

import torch
import torch.distributed as dist

from helpers.check import same
from tasks._messages import BATCH, noted, world_of

HINTS = (
    "In exchange_deadlock all ranks send at the same time. In order: what must a neighbor do "
    "while this rank sends? Without waiting: which call starts a send and returns at once? In a "
    "batch: one call that starts both.",
    "Each begins with theirs = torch.empty_like(mine) and ends with return theirs. In order: even "
    "ranks send to right, then receive from left; odd ranks the other way round. Without waiting: "
    "dist.isend gives a message; receive, then call its wait(). In a batch: "
    "dist.batch_isend_irecv of two dist.P2POp(dist.isend or dist.irecv, tensor, other) gives a "
    "list; wait() for each.",
)
NAME = "{function}, {world} ranks"
LESSON, MINUTES, RANKS = "ranks_and_collectives", 25, 4


def observe(module, case):
    """On each rank that takes part: what the work returns, `mine` afterwards, and the calls."""
    rank, world = dist.get_rank(), case["world"]
    if rank >= world:
        return None
    mine, theirs = case["tensors"][rank].clone(), None
    with noted() as calls, world_of(world):
        theirs = getattr(module, case["function"])(mine, rank, world)
    calls.sort(key=lambda call: "from" in call)  # a deadlock shows which order is wrong
    return {"returned": theirs, "mine": mine, "calls": calls}


WORLDS = (4, 3)  # even and odd: in a ring of 3 two even ranks are neighbors
WAYS = ("exchange_in_order", "exchange_without_waiting", "exchange_in_a_batch")
SHAPES = {(3, 2): torch.float64, (): torch.float32, (4, 1, 2): torch.int64}


def cases():
    def some(shape, dtype):
        return (1000 * torch.randn(shape)).to(dtype)

    return [
        {"world": world, "function": way, "tensors": [some(*shape) for _ in range(world)]}
        for world in WORLDS
        for way in WAYS
        for shape in ({(random.randint(2, 6),): torch.float32} | SHAPES).items()
    ]


def explain(case, seen):
    """Whether messages went the way that the function is named after, to whom, and what came."""
    way = WAYS.index(case["function"])
    for rank, one in enumerate(seen[: case["world"]]):
        calls, theirs = one["calls"], one["returned"]
        for call in calls:
            if "awaited" not in call:
                return f"rank {rank} calls dist.{call['call']}: neighbors exchange messages here"
        names = [call["call"] for call in calls]
        batched = any(call["batch"] for call in calls)
        single = [call["call"] for call in calls if not call["batch"]]
        others = [name for name in names if name not in ("send", "recv")]
        late = [call["call"] for call in calls if not call["awaited"]]
        left, right = (rank - 1) % case["world"], (rank + 1) % case["world"]
        sends = [call["to"] for call in calls if "to" in call]
        receives = [call["from"] for call in calls if "from" in call]
        before, expected = case["tensors"][rank], case["tensors"][rank - 1]
        came = isinstance(theirs, torch.Tensor)
        rules = {
            f"uses {BATCH if batched else ', '.join(others)}: this way has dist.send and dist.recv "
            "only, and it is their order that cures": way == 0 and (batched or others),
            f"uses {BATCH}: this way starts the send with dist.isend": way == 1 and batched,
            f"uses {' and '.join(names)}, which both wait: start the send with dist.isend, which "
            "returns at once": way == 1 and names and not others,
            f"calls {', '.join(single)} outside of a batch: give the send and the receive to one "
            f"dist.{BATCH}": way == 2 and single,
            f"starts {', '.join(late)} and never calls wait() on its result: until wait() returns, "
            "the message is on its way and its tensor must not change": late,
            "sends nothing and receives nothing": not calls,
            "sends to the left and receives from the right: give `mine` to the right neighbor, and "
            "get the tensor of the left one": sends == [left] and receives in ([right], [None]),
            f"sends to the ranks {sends} and receives from the ranks {receives}: one message to "
            f"the right, rank {right}, and one from the left, rank {left}, are enough":
                sends != [right] or receives not in ([left], [None]),
            f"gives {theirs!r:.40}, and must return the tensor that came": not came,
            "has changed `mine`: receive into a tensor of its own, torch.empty_like(mine)":
                not same(before, one["mine"], 0),
            "gives back its own tensor: return the one that was received": same(before, theirs, 0),
            "gives another shape or type than was sent: receive into torch.empty_like(mine)":
                came and (theirs.shape, theirs.dtype) != (expected.shape, expected.dtype),
            "gives other numbers than the left neighbor has sent": not same(expected, theirs, 0),
        }  # fmt: skip
        if broken := [sentence for sentence, wrong in rules.items() if wrong]:
            return f"rank {rank} {broken[0]}"
