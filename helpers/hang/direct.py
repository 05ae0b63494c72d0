"""Direct calls of a process group's own methods: `group.allreduce([x])`, `group.send([x], 1, 0)`.

The functions of torch.distributed call them, and so may a program, on some ranks or on all. They
count like those functions, because the two meet each other.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace

from helpers.hang.calls import check_batch_op
from helpers.hang.log import Log
from helpers.hang.operation import Operation
from helpers.hang.places import Frame

# Methods, by the function of torch.distributed that calls them. The names with an underscore are
# those before torch 2.13.
METHODS = {
    "send": "send",
    "recv": "recv",
    "recv_anysource": "recv",
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce_coalesced",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "allgather": "all_gather",
    "allgather_coalesced": "all_gather_coalesced",
    "_allgather_base": "all_gather_single",
    "all_gather_single": "all_gather_single",
    "gather": "gather",
    "scatter": "scatter",
    "reduce_scatter": "reduce_scatter",
    "_reduce_scatter_base": "reduce_scatter_single",
    "reduce_scatter_single": "reduce_scatter_single",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
    "all_to_all_single": "all_to_all_single",
    "barrier": "barrier",
    "monitored_barrier": "monitored_barrier",
}


def operation_of_method(
    name: str, group, args: tuple, kwargs: dict, log: Log, place: Frame
) -> Operation | None:
    """Return the operation that a method of a group asks for; None if torch will refuse the call.

    The tensor of a message is known, but of a collective only its name.
    """
    import torch.distributed as dist

    try:
        members = tuple(dist.get_process_group_ranks(group))
        times = log.times(place, METHODS[name])
        facts = {"world": group is dist.group.WORLD, "place": place, "times": times}
        if name in ("send", "recv", "recv_anysource"):
            asked = [*args, *kwargs.values()]
            (tensor,), peer, tag = asked if len(asked) == 3 else (asked[0], None, asked[1])
            facts["peer"] = None if peer is None else members[peer]
            facts |= {"tag": tag, "shape": tuple(tensor.shape)}
            facts["dtype"] = str(tensor.dtype).removeprefix("torch.")
    except (TypeError, ValueError, LookupError, AttributeError, RuntimeError):
        return None
    group_name = log.group_name(group.group_name)
    operation = Operation(METHODS[name], log.rank, group=group_name, members=members, **facts)
    return replace(operation, index=log.next_index(operation.channel))


def reader(name: str, log: Log) -> Callable:
    """Return what makes an operation of the arguments of a method, and says if it is async."""

    def read(args: tuple, kwargs: dict, place: Frame) -> tuple[Operation | None, bool]:
        group, *rest = args
        found = operation_of_method(name, group, tuple(rest), kwargs, log, place)
        return found, name != "monitored_barrier"  # all others are asynchronous

    return read


def watched_batch_op(init: Callable, log: Log) -> Callable:
    """Return P2POp's constructor with a check of the rank that it names."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def watched(op, *args, **kwargs) -> None:
        check_batch_op(signature, (op, *args), kwargs, log.rank)
        init(op, *args, **kwargs)

    return watched
