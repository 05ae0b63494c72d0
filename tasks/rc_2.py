"""RC-2: a deadlock, and three ways out of it."""

from helpers.grade import Task
from tasks._messages import noted, world_of

TASK = Task(
    id="RC-2",
    title="cure the deadlock in three ways",
    file="primer/exchange.py",
    function="exchange_in_order",
    also=("exchange_without_waiting", "exchange_in_a_batch"),
    notebook="02",
    points=15,
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


def run(module, case):
    """On every rank that takes part: what the work returns, `mine` afterwards, and the calls.

    case: how many ranks take part, the function, and each rank's tensor.
    """
    import torch.distributed as dist

    rank, world = dist.get_rank(), case["world"]
    if rank >= world:
        return None
    mine, theirs = case["tensors"][rank].clone(), None
    with noted() as calls, world_of(world):
        theirs = getattr(module, case["function"])(mine, rank, world)
    calls.sort(key=lambda call: "from" in call)  # a deadlock shows which order is wrong
    return {"returned": theirs, "mine": mine, "calls": calls}
