"""RC-2: a deadlock, and three ways out of it.

A way without waiting may start the send, the receive, or both, so rules look at the calls of any
program. A wrong order isn't seen here: the ranks deadlock, and say so themselves.
"""

import torch
import torch.distributed as dist

from helpers.grade import Task
from helpers.grade.verify import same
from tasks._messages import BATCH, noted, world_of

TASK = Task(
    title="cure the deadlock in three ways",
    file="primer/exchange.py",
    function="exchange_in_order",
    also=("exchange_without_waiting", "exchange_in_a_batch"),
    lesson="ranks_and_collectives",
    kind="evidence",
    minutes=25,
    ranks=4,
    hints=(
        "In exchange_deadlock all ranks do the same at the same time: they send. In order: what "
        "must a neighbor do while this rank sends? Without waiting: which call starts a send and "
        "returns at once? In a batch: one call that starts both.",
        "In order: let rank % 2 decide whether to send first or to receive first. Without waiting: "
        "dist.isend gives a message; receive, and then call its wait(). In a batch: "
        "dist.P2POp(dist.isend, tensor, other) describes a send, dist.irecv a receive.",
        "Each begins with theirs = torch.empty_like(mine) and ends with return theirs. In order: "
        "even ranks send to right, then receive from left; odd ranks the other way round. In a "
        "batch: dist.batch_isend_irecv([the send, the receive]) gives a list; wait() for each.",
    ),
)


def observe(module, case):
    """On every rank that takes part: what the work returns, `mine` afterwards, and the calls.

    case: how many ranks take part, the function, and each rank's tensor.
    """
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


def name(case):
    return f"{case['function']}, {case['world']} ranks"


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
    if not sends and not receives:
        return "sends nothing and receives nothing"
    if sends == [left] and receives in ([right], [None]):
        return (
            "sends to the left and receives from the right: give `mine` to the right neighbor, and "
            "get the tensor of the left one"
        )
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
    if same(before[rank], theirs, 0):
        return "gives back its own tensor: return the one that was received"
    shape, wanted = tuple(theirs.shape), tuple(expected.shape)
    if (shape, theirs.dtype) != (wanted, expected.dtype):
        return (
            f"gives shape {shape} and {theirs.dtype}, and sent was {wanted} and {expected.dtype}: "
            "receive into torch.empty_like(mine)"
        )
    return "gives other numbers than the left neighbor has sent"
