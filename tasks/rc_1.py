"""RC-1: all-reduce as a ring."""

from helpers.grade import Task
from tasks._messages import noted, world_of

TASK = Task(
    id="RC-1",
    title="build all-reduce as a ring of messages",
    file="primer/ring.py",
    function="ring_all_reduce",
    notebook="03",
    points=15,
    minutes=40,
    ranks=4,
    hints=(
        "Take pencil and paper, three ranks, and a tensor of three parts A, B, C. In step 0 rank r "
        "sends part r to the right. Which part arrives from the left? Add it, and send that part "
        "on in step 1. Which part is finished on rank r after the last step?",
        "tensor.flatten().tensor_split(world_size) cuts the tensor into parts. Reduce-scatter: in "
        "step s, rank r sends part (r - s) % n to rank r + 1, and adds what arrives to part "
        "(r - s - 1) % n. Then part r + 1 is finished on rank r. The all-gather begins with it.",
        "All-gather: in step s, rank r sends part (r + 1 - s) % n, and receives part (r - s) % n "
        "right into its place. Each step starts its send (isend, or both in one "
        "batch_isend_irecv), receives, and then waits for the send. At the end, write the flat "
        "tensor back: of a transposed tensor, flatten() is a copy. Add up part.nbytes as you send.",
    ),
)


def run(module, case):
    """On every rank that takes part: the tensor afterwards, what the work returns, and what it
    sends: to whom, how many bytes. Also which collectives it calls, and what it doesn't wait for.

    case: how many ranks take part, their tensors, and whether these have gaps in memory.
    """
    import torch.distributed as dist

    rank, world = dist.get_rank(), case["world"]
    if rank >= world:
        return None
    tensor, returned = case["tensors"][rank].clone(), None
    if case["gaps"]:
        tensor = tensor.t().contiguous().t()
    with noted(alone=world == 1) as calls, world_of(world):
        returned = module.ring_all_reduce(tensor, rank, world)
    return {
        "tensor": tensor,
        "returned": returned,
        "sends": [(call["to"], call["bytes"]) for call in calls if "to" in call],
        "refused": [call["call"] for call in calls if len(call) == 1],
        "not awaited": [call["call"] for call in calls if not call.get("awaited", True)],
    }
