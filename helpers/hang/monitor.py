"""Record what a rank asks of torch.distributed, and where it waits.

Every function of torch.distributed ends in a method of a process group, which returns a Work, and
waits in Work.wait(). So these two are wrapped, and new_group, which waits for others by itself. A
thread of the rank answers where it stands (`Monitor.standing`), even while the main thread is
blocked. What starts inside C++, as DDP's buckets do, is read off torch's own recorder (`flight`).
"""

import contextlib
import functools
import os
import sys
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from helpers import private
from helpers.hang import cases, flight, threads
from helpers.hang.operation import LOCAL, NEW_GROUP, RECEIVES, SENDS, Operation
from helpers.hang.places import NOWHERE, Frame, caller, is_library

KEPT = 64  # collectives of a group that are remembered
MOST_OPEN = 256  # Works kept alive: gloo waits in the destructor of one that the program dropped


@dataclass(frozen=True)
class Method:
    """A method of a process group: the function that ends in it, and where its arguments are.

    tensor: the argument whose size must be the same on all ranks; gives, takes: those that hold a
    part for each rank, and from each. Numbers of arguments, without the group; None if there is
    none.
    """

    function: str
    tensor: int | None = None
    gives: int | None = None
    takes: int | None = None


GATHER = Method("all_gather_into_tensor", 1, 1, 0)
SCATTER = Method("reduce_scatter_tensor", 0, 1, 0)
METHODS = {
    "send": Method("send", 0),
    "recv": Method("recv", 0),
    "recv_anysource": Method("recv", 0),
    "allreduce": Method("all_reduce", 0),
    "allreduce_coalesced": Method("all_reduce_coalesced"),
    "broadcast": Method("broadcast", 0),
    "reduce": Method("reduce", 0),
    "allgather": Method("all_gather", 1, 1, 0),
    "allgather_coalesced": Method("all_gather_coalesced"),
    "_allgather_base": GATHER,
    "all_gather_single": GATHER,  # its name since torch 2.13
    "gather": Method("gather", 1, 1, 0),
    "scatter": Method("scatter", 0, 1, 0),
    "reduce_scatter": Method("reduce_scatter", 0, 1, 0),
    "_reduce_scatter_base": SCATTER,
    "reduce_scatter_single": SCATTER,
    "alltoall": Method("all_to_all", None, 1, 0),
    "alltoall_base": Method("all_to_all_single", None, 1, 0),
    "all_to_all_single": Method("all_to_all_single", None, 1, 0),
    "barrier": Method("barrier"),
    "monitored_barrier": Method("monitored_barrier"),
}
WITH_ROOT = {"broadcast": "from", "scatter": "from", "reduce": "to", "gather": "to"}


class NoSuchRank(ValueError):
    """A call names a rank that it can't reach: gloo would wait for it, or abort."""


@dataclass(frozen=True)
class Standing:
    """Where one rank stands.

    waiting: what its main thread waits for, or None; since: the line of the wait itself.
    posted: channel -> how many operations; latest: channel of messages -> the last of them.
    collectives: group -> the last ones called. calls: (place, name) -> how often.
    moved: changes whenever an operation begins or ends.
    unsure: why something besides the main thread could still act; "" if nothing can.
    frames: of the main thread, the outermost first; others: of other threads (name, what they wait
        for, frames). native: what torch's C++ has started. blocked: whether it may wait there.
    """

    rank: int
    waiting: Operation | None = None
    since: Frame = NOWHERE
    posted: dict[tuple, int] = field(default_factory=dict)
    latest: dict[tuple, Operation] = field(default_factory=dict)
    collectives: dict[str, list[Operation]] = field(default_factory=dict)
    calls: dict[tuple, int] = field(default_factory=dict)
    moved: int = 0
    unsure: str = ""
    frames: list[Frame] = field(default_factory=list)
    others: list[tuple[str, Operation | None, list[Frame]]] = field(default_factory=list)
    native: flight.Flight | None = None
    blocked: bool = False


@functools.cache
def the_monitor() -> "Monitor":
    """Return the monitor of this process: there is one torch.distributed to record."""
    return Monitor()


@contextlib.contextmanager
def record_messages(recorder: Any) -> Iterator[None]:
    """Let a `Recorder` record the messages of the body: "send" or "recv", each with its "peer".

    What doesn't block is recorded where it begins to be sent, or is waited for on arrival.
    """
    the_monitor().begin(recorder.rank)  # torchrun's ranks have not
    the_monitor().recorder = recorder
    try:
        yield
    finally:
        the_monitor().recorder = None


class Monitor:
    """The record of one process. Any thread of the program writes, one of ours reads."""

    def __init__(self) -> None:
        self.rank, self.worlds = -1, 0  # torch uses the names of groups again in each world
        self.check: Any = None  # checked mode's `Check`
        self.recorder: Any = None  # a `Recorder` that wants the messages
        self.store: Callable | None = None  # opens our launcher's store, for a program's own world
        self._begun = False
        self._lock = threading.Lock()
        self._inside = threading.local()  # what torch itself calls doesn't count
        self._posted: Counter[tuple] = Counter()
        self._calls: Counter[tuple] = Counter()
        self._latest: dict[tuple, Operation] = {}
        self._collectives: dict[str, deque[Operation]] = {}
        self._waiting: dict[int, tuple[Operation, Frame, bool]] = {}  # by thread
        self._polls: tuple[Operation, Frame] | None = None  # what the main thread was told isn't so
        self._open: dict[int, tuple[Any, Operation]] = {}  # by id: a Work not yet waited for
        self._futures: weakref.WeakSet = weakref.WeakSet()  # Works whose futures were asked for
        self._moved = 0

    def begin(self, rank: int) -> None:
        """Record from now on what this process, which is rank `rank`, asks of torch."""
        self.rank = rank
        if not self._begun:
            self._begun = True
            self._wrap()

    def rest(self) -> None:
        """Record nothing that this thread asks from now on: in a benchmark it would count."""
        self._inside.torch = True

    def not_waited_for(self) -> list[Operation]:
        """Return the operations that nobody has waited for yet, in their order."""
        return [operation for _, operation in self._open.values()]

    def standing(self, ended: bool = False) -> Standing:
        """Return where this rank stands. Called from a thread of ours.

        Args:
            ended: the program has come to its end, and so has its main thread.
        """
        found = threads.of_program()
        main = threading.main_thread().ident
        frames = threads.stack(found.pop(main, None))
        with self._lock:
            waiting, since, limited = self._waiting.get(main, (None, NOWHERE, False))
            kept = {group: list(each) for group, each in self._collectives.items()}
            posted, latest, calls = dict(self._posted), dict(self._latest), dict(self._calls)
        if polls := not waiting and self._polls:
            if threads.only_polls(frames, polls[1]):
                waiting, since = polls
            else:
                polls = None
        blocked = not waiting and not ended and threads.inside_torch(frames)
        open_works = list(self._open.values())
        reasons = {
            "has other threads": found,
            "waits with a time limit of its own": limited,
            "has callbacks": any(not work.is_completed() for work in list(self._futures)),
            "handles signals": polls and threads.handles_signals(),
            "serves remote calls": threads.serves_calls(),
            "has left a collective open": blocked and any(
                operation.collective and not work.is_completed() for work, operation in open_works
            ),
        }  # fmt: skip
        others = [
            (threads.name_of(ident), self._waiting.get(ident, (None,))[0], threads.stack(frame))
            for ident, frame in found.items()
        ]
        return Standing(
            self.rank, waiting, since, posted, latest, kept, calls,
            self._moved + (threads.time_used(main) if blocked else 0),
            next((reason for reason, holds in reasons.items() if holds), ""),
            frames, others, flight.read(), blocked,
        )  # fmt: skip

    # --- the wrappers ----------------------------------------------------------------------------

    def _wrap(self) -> None:
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d

        for method in METHODS:
            if own := getattr(dist.ProcessGroup, method, None):
                setattr(dist.ProcessGroup, method, self._posting(method, own))
        dist.Work.wait = self._awaiting(dist.Work.wait)
        dist.Work.is_completed = self._asked(dist.Work.is_completed)
        dist.Work.get_future = self._promising(dist.Work.get_future)
        private.watch_named_ranks(self._refuse)
        for name, wrap in (("new_group", self._making), ("init_process_group", self._beginning)):
            wrapped = wrap(getattr(c10d, name))
            setattr(dist, name, wrapped)
            setattr(c10d, name, wrapped)

    def _posting(self, method: str, own: Callable) -> Callable:
        from torch.distributed.constants import default_pg_timeout

        @functools.wraps(own)
        def posting(group, *args, **kwargs):
            if getattr(self._inside, "torch", False):
                return own(group, *args, **kwargs)
            name, place = _called(sys._getframe(1))
            rest = [*args, *kwargs.values()]
            try:
                operation = self._operation(method, name, place, group, rest)
            except (TypeError, ValueError, LookupError, AttributeError, RuntimeError):
                return own(group, *args, **kwargs)  # torch itself refuses it
            # Of monitored_barrier, which is given torch's own limit where the program names none.
            limits = [value for value in rest if isinstance(value, timedelta)]
            self.note(operation)
            with self.waiting(operation, place, any(each < default_pg_timeout for each in limits)):
                with self._recorded(operation, ("isend",)):
                    if self.check:
                        self.check.before(operation)
                    work = self._call(operation, own, group, *args, **kwargs)
            return self.remember(work, operation)

        return posting

    def _call(self, operation: Operation, own: Callable, *args, **kwargs) -> Any:
        """Call torch's own method; where it refuses parts, the other rank's may say more."""
        try:
            return own(*args, **kwargs)
        except (RuntimeError, ValueError):
            if self.check and operation.gives + operation.takes:
                self.check.after(operation)
            raise

    def _awaiting(self, own: Callable) -> Callable:
        @functools.wraps(own)
        def awaiting(work, *args, **kwargs):
            if getattr(self._inside, "torch", False):
                return own(work, *args, **kwargs)
            with self._lock:
                _, operation = self._open.pop(id(work), (None, None))
            if operation is None:
                return own(work, *args, **kwargs)
            limited = any(value is not None for value in (*args, *kwargs.values()))
            since = caller(sys._getframe(1))
            with self.waiting(operation, since, limited):
                with self._recorded(operation, ("send", *RECEIVES)):
                    return own(work, *args, **kwargs)

        return awaiting

    def _asked(self, own: Callable) -> Callable:
        @functools.wraps(own)
        def asked(work):
            done = own(work)
            main = threading.current_thread() is threading.main_thread()
            _, operation = self._open.get(id(work), (None, None))
            if main and operation and not getattr(self._inside, "torch", False):
                self._moved += done and self._polls is not None
                self._polls = None if done else (operation, caller(sys._getframe(1)))
            return done

        return asked

    def _promising(self, own: Callable) -> Callable:
        @functools.wraps(own)
        def promising(work):
            self._futures.add(work)  # its callback runs in a thread of C++, and may send
            return own(work)

        return promising

    def _beginning(self, own: Callable) -> Callable:
        @functools.wraps(own)
        def beginning(backend=None, init_method=None, **options):
            by_address = str(init_method or "env").startswith(("env", "tcp"))
            if self.store and by_address and not options.get("store"):
                # torch itself would serve one in every network, or find an earlier world's names.
                options["store"] = self.store(self.worlds + 1, options.get("timeout"))
                options.setdefault("rank", int(os.environ["RANK"]))
                options.setdefault("world_size", int(os.environ["WORLD_SIZE"]))
                init_method = None
            self._inside.torch = True
            try:
                done = own(backend, init_method, **options)
            finally:
                self._inside.torch = False
            self.worlds += 1
            return done

        return beginning

    def _making(self, own: Callable) -> Callable:
        @functools.wraps(own)
        def making(ranks=None, *args, **kwargs):
            if getattr(self._inside, "torch", False):
                return own(ranks, *args, **kwargs)
            operation = self._new_group(ranks, kwargs)
            if operation is None:
                return own(ranks, *args, **kwargs)
            self.note(operation)
            with self.waiting(operation, operation.place):
                if self.check:
                    self.check.before(operation)
                return own(ranks, *args, **kwargs)

        return making

    def _refuse(self, group: Any, peer: int | None, inside: int | None) -> None:
        """Refuse the rank that a call names if it isn't there. inside: counted in its group.

        Raises:
            NoSuchRank: with the ranks that the call can reach.
        """
        import torch.distributed as dist

        try:
            members = dist.get_process_group_ranks(group)
        except (TypeError, ValueError, KeyError, RuntimeError):
            return  # torch refuses it
        named = peer if inside is None else members[inside] if 0 <= inside < len(members) else None
        if named not in members or named == self.rank:
            name = _called(sys._getframe(2))[0]
            itself = named == self.rank and name in (*SENDS, *RECEIVES)
            if named not in members or itself:
                world = group in (None, dist.group.WORLD)
                raise NoSuchRank(
                    cases.no_such_rank(name, self.rank, peer, inside, members, world, itself)
                )

    # --- the record ------------------------------------------------------------------------------

    def note(self, operation: Operation) -> None:
        """Record an operation before it begins."""
        with self._lock:
            self._moved += 1
            if operation.collective:
                kept = self._collectives.setdefault(operation.group, deque(maxlen=KEPT))
                kept.append(operation)
            else:
                self._latest[operation.channel] = operation

    @contextlib.contextmanager
    def waiting(self, operation: Operation, since: Frame, limited: bool = False) -> Iterator[None]:
        """Record that this thread waits while the body runs; what torch calls there is its own."""
        thread = threading.get_ident()
        self._waiting[thread] = (operation, since, limited)
        self._inside.torch = True
        try:
            yield
        except RuntimeError as error:
            if told := cases.closed_by_an_earlier_limit(operation, str(error)):
                raise RuntimeError(told) from error
            error.operation = operation  # for who tells it (helpers.ranks.watch)
            raise
        finally:
            self._inside.torch = False
            self._waiting.pop(thread, None)
            self._moved += 1

    def remember(self, work: Any, operation: Operation) -> Any:
        """Keep a Work, with what it belongs to, until the program waits for it."""
        if work is not None:
            with self._lock:
                self._open[id(work)] = (work, operation)
                if len(self._open) > MOST_OPEN:
                    del self._open[next(iter(self._open))]
        return work

    def _recorded(self, operation: Operation, names: tuple) -> contextlib.AbstractContextManager:
        """Return what records the body, if it is one of these messages and somebody records."""
        if self.recorder is None or operation.name not in names:
            return contextlib.nullcontext()
        return self.recorder.span("send" if operation.sends else "recv", peer=operation.peer)

    def _operation(self, method: str, name: str, place: Frame, group: Any, rest: list) -> Operation:
        import torch.distributed as dist

        of, members = METHODS[method], tuple(dist.get_process_group_ranks(group))
        facts: dict[str, Any] = {"members": members, "place": place, "kind": of.function}
        facts |= {"group": self._name(group), "world": group is dist.group.WORLD}
        if of.function in ("send", "recv"):
            facts["tag"] = int(rest[-1])
            facts["peer"] = None if method == "recv_anysource" else members[rest[1]]
            if "object" not in name and name != of.function:
                name = f"i{of.function}" if name else of.function
        else:
            name = name or of.function
            facts["detail"] = _detail(of, rest, members)
        if of.tensor is not None:
            tensor = _first(rest[of.tensor])
            if not tensor.is_contiguous():
                raise ValueError  # torch refuses it, at this line
            if "object" not in name:
                facts |= {"shape": tuple(tensor.shape), "dtype": _dtype(tensor)}
        if of.gives is not None and "object" not in name:
            facts["gives"] = _parts(rest, of, of.gives, len(members), -2)
            facts["takes"] = _parts(rest, of, of.takes, len(members), -3)
        channel = ("collective", facts["group"])
        if of.function in ("send", "recv"):
            channel = (of.function, facts["peer"], facts["group"], facts["tag"])
        return Operation(name, self.rank, **facts, **self._count(channel, place, name))

    def _new_group(self, ranks: Any, options: dict) -> Operation | None:
        """Return the operation of creating a group; None if this rank takes no part in it.

        torch wants every rank to create every group, and checked mode makes sure of it, but torch
        itself waits for the members alone. With use_local_synchronization only they may call.
        """
        import torch.distributed as dist

        world = tuple(range(dist.get_world_size()))
        local = bool(options.get("use_local_synchronization")) and ranks is not None
        members = tuple(sorted(ranks)) if ranks is not None else world
        detail, group = f"ranks {', '.join(map(str, members))}", self._name(dist.group.WORLD)
        if local:
            if self.rank not in members:
                return None
            group = LOCAL + detail
            made = private.groups_made() - 1  # a part of the name under which torch's ranks meet
            detail += f"; this rank has made {made} group{'s' * (made != 1)} before"
        members = world if self.check and not local else members
        place = caller(sys._getframe(2))
        count = self._count(("collective", group), place, NEW_GROUP)
        return Operation(
            NEW_GROUP, self.rank, group=group, members=members, detail=detail, place=place,
            world=not local, kind=NEW_GROUP, **count,
        )  # fmt: skip

    def _name(self, group: Any) -> str:
        name = group.group_name
        return f"{name} of {self.worlds}" if self.worlds > 1 else name

    def _count(self, channel: tuple, place: Frame, name: str) -> dict[str, int]:
        """Count an operation; return its number on its channel, and how often it was called there.

        channel: as `Operation.channel` has it.
        """
        with self._lock:
            index, times = self._posted[channel], 1
            self._posted[channel] += 1
            if channel[0] == "collective" and "object" not in name:
                self._calls[place, name] += 1
                times = self._calls[place, name]
        return {"index": index, "times": times}


def _called(frame) -> tuple[str, Frame]:
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
    if of.function in WITH_ROOT and hasattr(options, "rootRank"):
        parts += [f"{WITH_ROOT[of.function]} rank {members[options.rootRank]}"]
    if of.gives is not None and of.tensor is None:  # sizes may differ from rank to rank, types not
        parts += [_dtype(_first(rest[of.gives]))]
    return ", ".join(filter(None, parts))


def _parts(rest: list, of: Method, number: int, size: int, splits: int) -> tuple[int, ...]:
    """Return how many numbers of an argument belong to each rank; () if it holds no such parts.

    splits: the argument of all_to_all_single that holds the lengths of the parts, from the end.
    """
    value = rest[number]
    while isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
        value = value[0]
    if isinstance(value, list | tuple) and number != of.tensor:
        return tuple(part.numel() for part in value) if len(value) == size else ()
    value = _first(value)
    if number == of.tensor:  # all of it, to or from each
        return (value.numel(),) * size
    if of.function == "all_to_all_single" and (rows := rest[splits]):
        row = value.numel() // max(1, len(value))
        return tuple(row * count for count in rows) if len(rows) == size else ()
    return tuple((value.numel() + size - 1 - rank) // size for rank in range(size))
