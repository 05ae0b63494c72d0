"""A slow link inside a process: torch.distributed takes as long as it would on that link.

A message travels at full speed and is held back until the slow link would have delivered it; its
time starts when all participants have arrived. Each rank has one way out and one way in, and each
carries one message at a time, in the order in which they come: one that nobody has sent yet holds
up no other.
"""

import functools
import inspect
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import torch
import torch.distributed as dist

from helpers.network.link import Link


def _parts(link: Link, size: float, ranks: int) -> float:
    """Return the seconds of all parts but the rank's own, in turn: half of a ring all-reduce."""
    return link.seconds(size * (ranks - 1) / ranks, ranks - 1)


def _message(link: Link, size: float, ranks: int) -> float:
    return link.seconds(size)


# For each operation: the argument that all ranks have in the end, or had, and the seconds that a
# rank takes to send and receive its bytes.
COSTS: dict[str, tuple[int, Callable[[Link, float, int], float]]] = {
    "all_reduce": (0, Link.all_reduce_seconds),
    "all_gather": (0, _parts),
    "all_gather_into_tensor": (0, _parts),
    "all_gather_single": (0, _parts),  # since torch 2.13, as fully_shard calls it
    "reduce_scatter": (1, _parts),
    "reduce_scatter_tensor": (1, _parts),
    "reduce_scatter_single": (1, _parts),
    "all_to_all_single": (0, _parts),  # of equal parts; otherwise see `_exchange`
    "broadcast": (0, _message),  # along a chain that passes the tensor on in pieces
    "reduce": (0, _message),  # the same chain the other way
    **dict.fromkeys(("send", "isend", "recv", "irecv"), (0, _message)),
}


def _seconds(name: str, link: Link, given: dict, rank: int, ranks: int) -> float:
    """Return what a call takes on a link. given: its arguments, in the order of the signature."""
    if given.get("input_split_sizes") or given.get("output_split_sizes"):
        return _exchange(link, given, rank, ranks)
    position, cost = COSTS[name]
    tensors = [*given.values()][position]
    tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    return cost(link, sum(tensor.nbytes for tensor in tensors), ranks)


def _exchange(link: Link, given: dict, rank: int, ranks: int) -> float:
    """Return the seconds of an all-to-all: a message to each other rank, and one from each.

    Both ways are in use at one time, so the fuller one counts. A rank's part for itself stays.
    """

    def to_others(way: str) -> float:
        size, splits = given[way].nbytes, given.get(f"{way}_split_sizes")
        own = splits[rank] / max(sum(splits), 1) if splits else 1 / ranks
        return size - own * size

    return link.seconds(max(to_others("input"), to_others("output")), ranks - 1)


@contextmanager
def slow_link(link: Link, sleep: Callable[[float], object] = time.sleep) -> Iterator[None]:
    """Make this rank's messages inside the block take at least as long as on `link`.

    This works on every system, for calls of the functions in `COSTS`, such as `dist.all_reduce(…)`,
    and for those of `fully_shard`. DistributedDataParallel's own C++ is not slowed, unless it has a
    communication hook that calls these functions.

    Collectives take what a ring sends, as NCCL does. Gloo sends the same, but its reduce-scatter on
    a real slow network (`hosts`) takes twice as long, like a whole all-reduce.

    sleep: waits for the given number of seconds.
    """
    names = (*COSTS, "P2POp", "batch_isend_irecv")
    before = {name: getattr(dist, name) for name in names if hasattr(dist, name)}  # an older torch
    out, into = _Way(link, sleep, "out"), _Way(link, sleep, "in")
    ways = dict.fromkeys(COSTS, out) | dict.fromkeys(("recv", "irecv"), into)
    for name in before.keys() & COSTS.keys():
        setattr(dist, name, _late(name, before[name], ways[name]))
    real = {getattr(dist, name): before[name] for name in ("isend", "irecv")}
    dist.P2POp = lambda op, *args, **kwargs: before["P2POp"](real.get(op, op), *args, **kwargs)
    way_of = {before[name]: ways[name] for name in ("isend", "irecv")}
    dist.batch_isend_irecv = _late_batch(before["batch_isend_irecv"], way_of)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(dist, name, function)
        for way in (out, into):
            way.waiters.shutdown()
            way.wire.shutdown()


class _Way:
    """One direction of a link. The one thread of `wire` is its queue of what has come."""

    def __init__(self, link: Link, sleep: Callable, name: str):
        self.link, self.sleep = link, sleep
        self.wire = ThreadPoolExecutor(1, f"link-{name}")
        self.waiters = ThreadPoolExecutor(1000, f"link-wait-{name}")  # as many as are under way

    def carry(self, seconds: float) -> None:
        """Return when this message, and those that came before it, would be there."""
        self.wire.submit(self.sleep, seconds).result()


class _LateWork:
    """The work of an asynchronous operation, done once the slow link would have delivered it."""

    def __init__(self, work: Any, way: _Way, seconds: float):
        self.future: torch.futures.Future = torch.futures.Future()
        way.waiters.submit(self._finish, work, way, seconds)

    def _finish(self, work: Any, way: _Way, seconds: float) -> None:
        value = None
        try:
            work.wait()
            way.carry(seconds)
            with suppress(RuntimeError):  # gloo's messages have no future
                value = work.get_future().value()
            self.future.set_result(value)
        except Exception as error:  # comes up where somebody waits
            self.future.set_exception(error)

    def wait(self, timeout: Any = None) -> bool:
        self.future.wait()
        return True

    def is_completed(self) -> bool:
        return self.future.done()

    def get_future(self) -> Any:
        return self.future


def _late(name: str, function: Callable, way: _Way) -> Callable:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def late(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        group = given.get("group")
        place = dist.get_rank(group), dist.get_world_size(group)
        seconds = _seconds(name, way.link, given, *place)
        found = function(*args, **kwargs)
        if hasattr(found, "wait"):
            return _LateWork(found, way, seconds)
        way.carry(seconds)
        return found

    return late


def _late_batch(function: Callable, way_of: dict[Callable, _Way]) -> Callable:
    @functools.wraps(function)
    def late(operations: list) -> list:
        works = []
        for operation, work in zip(operations, function(operations), strict=True):
            way = way_of[operation.op]
            works.append(_LateWork(work, way, way.link.seconds(operation.tensor.nbytes)))
        return works

    return late
