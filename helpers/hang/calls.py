"""What one call of torch.distributed says of itself, read off the arguments of a group's method."""

from typing import Any, NamedTuple

from helpers.hang.places import Frame, caller, is_library


class Method(NamedTuple):
    """A method of a process group, by the function of torch.distributed that ends in it.

    tensor: the number of the argument, without the group, whose size must be the same on all ranks.
    parts: whether argument 1 holds a part for each rank, and argument 0 one from each.
    """

    function: str
    tensor: int | None = None
    parts: bool = False


METHODS = {
    "send": Method("send", 0),
    "recv": Method("recv", 0),
    "recv_anysource": Method("recv", 0),
    "allreduce": Method("all_reduce", 0),
    "allreduce_coalesced": Method("all_reduce_coalesced"),
    "broadcast": Method("broadcast", 0),
    "reduce": Method("reduce", 0),
    "allgather": Method("all_gather", 1, True),
    "allgather_coalesced": Method("all_gather_coalesced"),
    "_allgather_base": Method("all_gather_into_tensor", 1, True),
    "gather": Method("gather", 1, True),
    "gather_into_tensor": Method("gather_into_tensor", 1),
    "scatter": Method("scatter", 0, True),
    "reduce_scatter": Method("reduce_scatter", 0, True),
    "_reduce_scatter_base": Method("reduce_scatter_tensor", 0, True),
    "alltoall": Method("all_to_all", None, True),
    "alltoall_base": Method("all_to_all_single", None, True),
    "barrier": Method("barrier"),
    "monitored_barrier": Method("monitored_barrier"),
}
METHODS |= {  # their names since torch 2.13, and of the second since 2.14
    "all_gather_single": METHODS["_allgather_base"],
    "gather_single": METHODS["gather_into_tensor"],
    "reduce_scatter_single": METHODS["_reduce_scatter_base"],
    "all_to_all_single": METHODS["alltoall_base"],
}


def called(frame: Any) -> tuple[str, Frame]:
    """Return the function of torch.distributed that the program called, and the line of the call.

    Of a P2POp, which is made and not called, it is the function that it names.
    """
    name, outer = "", frame
    while outer is not None and is_library(outer.f_code.co_filename):
        if outer.f_code.co_filename.endswith("distributed_c10d.py"):
            name = outer.f_code.co_name
            if name == "__init__":
                name = getattr(outer.f_locals.get("op"), "__name__", "")
        outer = outer.f_back
    return name, caller(frame)


def facts_of(method: str, name: str, rest: list, members: tuple[int, ...]) -> dict[str, Any]:
    """Return what the arguments of a method say, as fields of an `Operation`.

    name: the function that the program called; "" if it called the method itself. If torch will
    refuse the call this raises TypeError, ValueError, LookupError or AttributeError.
    """
    of = METHODS[method]
    facts: dict[str, Any] = {"name": name or of.function, "kind": of.function, "members": members}
    if of.function in ("send", "recv"):
        facts["tag"] = int(rest[-1])
        facts["peer"] = None if method == "recv_anysource" else members[rest[1]]
        if name and name != of.function and "object" not in name:
            facts["name"] = f"i{of.function}"
    else:
        facts["detail"] = _detail(of, rest, members)
    if of.tensor is not None:
        tensor = _first(rest[of.tensor])
        if not tensor.is_contiguous():
            raise ValueError  # torch refuses it, at this line
        if "object" not in name:
            facts |= {"shape": tuple(tensor.shape), "dtype": _dtype(tensor)}
    if of.parts and "object" not in name:
        facts["gives"] = _parts(rest, of, 1, len(members))
        facts["takes"] = _parts(rest, of, 0, len(members))
    return facts


def _first(value: Any) -> Any:
    while isinstance(value, list | tuple):
        value = value[0]
    return value


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _detail(of: Method, rest: list, members: tuple[int, ...]) -> str:
    """Return what the ranks must agree on besides the tensor: "SUM", "from rank 0".

    A direct call of a group's method without options says nothing of it.
    """
    import torch.distributed as dist

    options, parts = rest[-1] if rest else None, []
    if hasattr(options, "reduceOp"):
        known = dist.ReduceOp.RedOpType.__members__.items()
        parts += [next((name for name, value in known if options.reduceOp == value), "")]
    if hasattr(options, "rootRank"):
        way = "from" if of.function in ("broadcast", "scatter") else "to"
        parts += [f"{way} rank {members[options.rootRank]}"]
    if of.parts and of.tensor is None:  # sizes may differ from rank to rank, types not
        parts += [_dtype(_first(rest[1]))]
    return ", ".join(filter(None, parts))


def _parts(rest: list, of: Method, number: int, size: int) -> tuple[int, ...]:
    """Return how many numbers of an argument belong to each rank; () if it holds no such parts."""
    value = rest[number]
    while isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
        value = value[0]
    if isinstance(value, list | tuple) and number != of.tensor:
        return tuple(part.numel() for part in value) if len(value) == size else ()
    value = _first(value)
    if number == of.tensor:  # all of it, to or from each
        return (value.numel(),) * size
    # The lengths of the parts stand before the options: those to take, and those to give.
    if of.function == "all_to_all_single" and (rows := rest[number - 3]):
        row = value.numel() // max(1, len(value))
        return tuple(row * count for count in rows) if len(rows) == size else ()
    return tuple((value.numel() + size - 1 - rank) // size for rank in range(size))
