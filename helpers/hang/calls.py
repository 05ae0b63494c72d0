"""The functions of torch.distributed that are watched, and what a call of each asks for.

A call that names a rank which doesn't exist, or isn't in its group, is refused before anything is
sent: gloo and NCCL would wait for that rank until their timeout, or abort the process.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from helpers.hang.log import Log
from helpers.hang.operation import LOCAL, NEW_GROUP, RECEIVES, SENDS, Operation
from helpers.hang.places import Frame
from helpers.words import names


@dataclass(frozen=True)
class Roles:
    """Which arguments of a function hold its facts.

    tensor: the argument whose size must be the same on all ranks; "" if there is none.
    root: "src" or "dst" where one rank is special. reduces: whether it has an `op`.
    gives, takes: the arguments that hold a part for each rank and from each rank; "" if none.
    """

    tensor: str = ""
    root: str = ""
    reduces: bool = False
    gives: str = ""
    takes: str = ""


MESSAGES = {name: Roles("tensor", "dst") for name in ("send", "isend")}
MESSAGES |= {name: Roles("tensor", "src") for name in ("recv", "irecv")}
MESSAGES |= {"send_object_list": Roles("", "dst"), "recv_object_list": Roles("", "src")}
COLLECTIVES = {
    "all_reduce": Roles("tensor", reduces=True),
    "broadcast": Roles("tensor", "src"),
    "reduce": Roles("tensor", "dst", reduces=True),
    "all_gather": Roles("tensor", gives="tensor", takes="tensor_list"),
    "all_gather_into_tensor": Roles("input_tensor", gives="input_tensor", takes="output_tensor"),
    "gather": Roles("tensor", "dst", gives="tensor", takes="gather_list"),
    "scatter": Roles("tensor", "src", gives="scatter_list", takes="tensor"),
    "reduce_scatter": Roles("output", reduces=True, gives="input_list", takes="output"),
    "reduce_scatter_tensor": Roles("output", reduces=True, gives="input", takes="output"),
    "all_to_all": Roles(gives="input_tensor_list", takes="output_tensor_list"),
    "all_to_all_single": Roles(gives="input", takes="output"),
    "barrier": Roles(),
    "monitored_barrier": Roles(),
    "all_gather_object": Roles(),
    "gather_object": Roles(root="dst"),
    "broadcast_object_list": Roles(root="src"),
    "scatter_object_list": Roles(root="src"),
}
# Their names since torch 2.13; fully_shard calls them.
COLLECTIVES["all_gather_single"] = COLLECTIVES["all_gather_into_tensor"]
COLLECTIVES["reduce_scatter_single"] = COLLECTIVES["reduce_scatter_tensor"]
# New in torch 2.15, under both names.
COLLECTIVES |= dict.fromkeys(
    ("gather_into_tensor", "gather_single"),
    Roles("tensor", "dst", gives="tensor", takes="gather_tensor"),
)
NAMES = (*MESSAGES, *COLLECTIVES, NEW_GROUP)


def operation_of(
    name: str,
    signature: inspect.Signature,
    args: tuple,
    kwargs: dict,
    log: Log,
    place: Frame,
    checked: bool = False,
) -> tuple[Operation | None, bool]:
    """Return the operation that a call asks for, and whether it is asynchronous.

    The operation is None if torch itself will refuse the call, or if this rank takes no part in it.

    Raises:
        NoSuchRank: if the call names a rank that doesn't exist, or isn't in the group.
    """
    import torch.distributed as dist

    try:
        values = signature.bind(*args, **kwargs).arguments
        if name == NEW_GROUP:
            return _new_group(values, log, place, checked), False
        group = values.get("group") or dist.group.WORLD
        if group == dist.GroupMember.NON_GROUP_MEMBER:
            return None, False
        known = MESSAGES.get(name) or COLLECTIVES[name]
        members = tuple(dist.get_process_group_ranks(group))
        world = group is dist.group.WORLD
        peer = values.get(known.root) if known.root else None
        if known.root and values.get(f"group_{known.root}") is not None:
            inside = values[f"group_{known.root}"]
            check_group_peer(name, log.rank, inside, members)
            peer = dist.get_global_rank(group, inside)
        check_peer(name, log.rank, peer, members, world)
        if name in MESSAGES and peer is None and name in SENDS:
            return None, False
        tensor = values.get(known.tensor) if known.tensor else None
        if known.tensor and not tensor.is_contiguous():
            return None, False  # torch refuses it, at this line and not later
        facts = {
            "name": name,
            "rank": log.rank,
            "group": log.group_name(group.group_name),
            "members": members,
            "tag": values.get("tag", 0) if name in MESSAGES else 0,
            "shape": tuple(tensor.shape) if tensor is not None else (),
            "dtype": str(tensor.dtype).removeprefix("torch.") if tensor is not None else "",
            "place": place,
            "times": log.times(place, name),
            "world": world,
            "peer": peer if name in MESSAGES else None,
            "detail": "" if name in MESSAGES else _detail(values, known, peer),
            "gives": _parts(values, known.gives, known, len(members)),
            "takes": _parts(values, known.takes, known, len(members)),
        }
    except NoSuchRank:
        raise
    except (TypeError, ValueError, AttributeError, LookupError, RuntimeError):
        return None, False
    operation = Operation(**facts)
    asynchronous = bool(values.get("async_op")) or name in ("isend", "irecv")
    return _numbered(operation, log), asynchronous


def _detail(values: dict[str, Any], known: Roles, root: int | None) -> str:
    """Return what the ranks must agree on besides the tensor: "SUM", "from rank 0"."""
    import torch.distributed as dist

    parts = []
    if known.reduces:
        operations, asked = dist.ReduceOp.RedOpType.__members__.items(), values.get("op")
        parts.append(next((name for name, other in operations if asked == other), "SUM"))
    if known.root:
        parts.append(
            f"{'from' if known.root == 'src' else 'to'} rank {0 if root is None else root}"
        )
    if known.gives and not known.tensor:  # sizes may differ from rank to rank, types may not
        given = values[known.gives]
        first = given[0] if isinstance(given, list | tuple) else given
        parts.append(str(first.dtype).removeprefix("torch."))
    return ", ".join(parts)


def _parts(values: dict[str, Any], name: str, known: Roles, ranks: int) -> tuple[int, ...]:
    """Return how many numbers of an argument belong to each rank; () if it holds no such parts."""
    value = values.get(name)
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return tuple(part.numel() for part in value) if len(value) == ranks else ()
    if name == known.tensor:  # all of it, to or from each
        return (value.numel(),) * ranks
    splits = values.get(f"{name}_split_sizes")
    if splits:
        row = value.numel() // max(1, len(value))
        return tuple(row * rows for rows in splits) if len(splits) == ranks else ()
    return tuple((value.numel() + ranks - 1 - rank) // ranks for rank in range(ranks))


def _new_group(values: dict[str, Any], log: Log, place: Frame, checked: bool) -> Operation | None:
    """Return the operation of creating a group, or None if this rank takes no part in it.

    torch wants every rank of the world to create every group, and checked mode makes sure of it,
    but torch itself waits for the members alone. With use_local_synchronization only they may call.
    """
    import torch.distributed as dist

    world = tuple(range(dist.get_world_size()))
    ranks = values.get("ranks")
    local = bool(values.get("use_local_synchronization")) and ranks is not None
    ranks = tuple(world if ranks is None else ranks)
    if values.get("sort_ranks", True):
        ranks = tuple(sorted(ranks))
    detail = f"ranks {', '.join(map(str, ranks))}"
    group = log.group_name(dist.group.WORLD.group_name)
    if local:
        if log.rank not in ranks:
            return None
        group = LOCAL + detail
        from helpers import private

        made = private.groups_made() - 1  # a part of the name under which torch's ranks meet
        detail += f"; this rank has made {made} group{'s' * (made != 1)} before"
    operation = Operation(
        NEW_GROUP,
        log.rank,
        group=group,
        members=world if checked and not local else ranks,
        detail=detail,
        place=place,
        times=log.times(place, NEW_GROUP),
        world=not local,
    )
    return _numbered(operation, log)


def _numbered(operation: Operation, log: Log) -> Operation:
    return replace(operation, index=log.next_index(operation.channel))


def check_batch_op(signature: inspect.Signature, args: tuple, kwargs: dict, rank: int) -> None:
    """Refuse a P2POp whose other rank doesn't exist, before anything in its batch is sent.

    Raises:
        NoSuchRank: as in `operation_of`.
    """
    import torch.distributed as dist

    try:
        values = signature.bind(*args, **kwargs).arguments
        name, group = values["op"].__name__, values.get("group") or dist.group.WORLD
        members = dist.get_process_group_ranks(group)
    except (TypeError, ValueError, AttributeError, RuntimeError):
        return  # torch refuses it
    inside, peer = values.get("group_peer"), values.get("peer")
    if inside is not None:
        check_group_peer(name, rank, inside, members)
        peer = members[inside] if isinstance(inside, int) else None
    check_peer(name, rank, peer, members, group is dist.group.WORLD)


def signatures() -> dict[str, tuple[Callable, inspect.Signature]]:
    """Return each watched function that this torch has, with its signature."""
    from torch.distributed import distributed_c10d as c10d

    functions = {name: getattr(c10d, name) for name in NAMES if hasattr(c10d, name)}
    return {name: (function, inspect.signature(function)) for name, function in functions.items()}


# --- the ranks that a call names ---


class NoSuchRank(ValueError):
    """A call names a rank that it can't reach; the message gives the ranks that it can."""


def check_peer(name: str, rank: int, peer: Any, members: Sequence[int], world: bool) -> None:
    """Refuse the other rank of a message, or the root of a collective, if it doesn't exist.

    name: the function of torch.distributed that rank `rank` calls. peer: the global rank that it
    names; None is torch's own default. members: the global ranks of the group; world: whether
    they are all ranks.

    Raises:
        NoSuchRank: with the ranks that the call can reach.
    """
    if not isinstance(peer, int):
        return  # None; or something that torch itself refuses
    if peer not in members:
        there = f"its group holds {names(members)}"
        if world:
            several = len(members) > 1
            there = f"the ranks are {_range(members)}" if several else "there is only rank 0"
        raise NoSuchRank(
            f"rank {rank} {_does(name)} rank {peer}, but {there}: "
            f"{_cure(name, rank, peer, members, world)}"
        )
    if peer == rank and name in (*SENDS, *RECEIVES):
        raise NoSuchRank(
            f"rank {rank} {_does(name)} itself, which torch.distributed can't do: copy the tensor, "
            "or name another rank"
        )


def check_group_peer(name: str, rank: int, peer: Any, members: Sequence[int]) -> None:
    """Refuse a rank that is counted within the group, as group_dst is, if it doesn't exist.

    Raises:
        NoSuchRank: with the ranks of the group.
    """
    if isinstance(peer, int) and not 0 <= peer < len(members):
        raise NoSuchRank(
            f"rank {rank} {_does(name)} group rank {peer}, but the group's own ranks are "
            f"{_range(range(len(members)))}: they count the members of the group"
        )


def _does(name: str) -> str:
    """Return the words between the two ranks."""
    if name in SENDS:
        return "sends to"
    if name in RECEIVES:
        return "receives from"
    return f"calls {name} {'to' if name in ('reduce', 'gather', 'gather_object') else 'from'}"


def _cure(name: str, rank: int, peer: int, members: Sequence[int], world: bool) -> str:
    size = len(members)
    if not world:
        return "name one of them by its global rank, or use a group that holds both"
    if name in (*SENDS, *RECEIVES) and size > 1:
        if peer == size and rank == size - 1:
            return f"let the last rank skip it, or take (rank + 1) % {size} for a ring"
        if peer == -1 and rank == 0:
            return f"let rank 0 skip it, or take (rank - 1) % {size} for a ring"
    return "name one of these" if size > 1 else "start more ranks"


def _range(members: Sequence[int]) -> str:
    return f"{members[0]} to {members[-1]}"
