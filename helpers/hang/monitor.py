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
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from helpers import private
from helpers.hang import cases, flight, places
from helpers.hang.calls import METHODS, called, facts_of
from helpers.hang.operation import LOCAL, NEW_GROUP, RECEIVES, SENDS, Operation
from helpers.hang.places import NOWHERE, Frame, caller
from helpers.words import many

KEPT = 64  # collectives of a group that are remembered
MOST_OPEN = 256  # Works kept alive: gloo waits in the destructor of one that the program dropped


class NoSuchRank(ValueError):
    """A call names a rank that it can't reach: gloo would wait for it, or abort."""


@dataclass(frozen=True)
class Standing:
    """Where one rank stands.

    waiting: what its main thread waits for, or None; since: the line of the wait itself.
    latest: channel -> the last operation there; collectives: group -> the last ones called.
    moved: changes whenever an operation begins or ends.
    unsure: why something besides the main thread could still act; "" if nothing can.
    frames: of the main thread, the outermost first; others: of other threads (name, what they wait
        for, frames).
    native: group -> how many collectives torch's C++ has started, and the oldest of them that
        hasn't ended.
    """

    rank: int
    waiting: Operation | None = None
    since: Frame = NOWHERE
    latest: dict[tuple, Operation] = field(default_factory=dict)
    collectives: dict[str, list[Operation]] = field(default_factory=dict)
    moved: int = 0
    unsure: str = ""
    frames: list[Frame] = field(default_factory=list)
    others: list[tuple[str, Operation | None, list[Frame]]] = field(default_factory=list)
    native: dict[str, tuple[int, Operation | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: tuple) -> "Standing":
        """Return what `dataclasses.astuple` has made plain values of."""
        plain = cls(*facts)
        return replace(
            plain,
            waiting=plain.waiting and Operation(*plain.waiting),
            latest={channel: Operation(*each) for channel, each in plain.latest.items()},
            collectives={g: [Operation(*op) for op in ops] for g, ops in plain.collectives.items()},
            others=[(name, op and Operation(*op), frames) for name, op, frames in plain.others],
            native={g: (n, op and Operation(*op)) for g, (n, op) in plain.native.items()},
        )


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
        self.explains = False  # what gloo says of a message that didn't come: no launcher does
        self.recorder: Any = None  # a `Recorder` that wants the messages
        self.store: Callable | None = None  # opens our launcher's store, for a program's own world
        self._moved = 0
        self._lock = threading.Lock()
        self._inside = threading.local()  # what torch itself calls doesn't count
        self._calls: Counter[tuple] = Counter()
        self._latest: dict[tuple, Operation] = {}
        self._collectives: dict[str, deque[Operation]] = {}
        self._waiting: dict[int, tuple[Operation, Frame, bool]] = {}  # by thread
        self._polls: tuple[Operation, Frame] | None = None  # what the main thread was told isn't so
        self._open: dict[int, tuple[Any, Operation]] = {}  # by id: a Work not yet waited for
        self._futures: weakref.WeakSet = weakref.WeakSet()  # Works whose futures were asked for

    def begin(self, rank: int) -> None:
        """Record from now on what this process, which is rank `rank`, asks of torch."""
        begun, self.rank = self.rank >= 0, rank
        if begun:
            return
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d

        for method in METHODS:
            if hasattr(dist.ProcessGroup, method):
                self._wrap(method, functools.partial(self._posting, method), dist.ProcessGroup)
        self._wrap("wait", self._awaiting, dist.Work)
        self._wrap("is_completed", self._asked, dist.Work)
        self._wrap("get_future", self._promising, dist.Work)
        self._wrap("new_group", self._making, c10d, dist)
        self._wrap("init_process_group", self._beginning, c10d, dist)
        private.watch_named_ranks(self._refuse)

    def rest(self) -> None:
        """Record nothing that this thread asks from now on: in a benchmark it would count."""
        self._inside.torch = True

    def not_waited_for(self) -> list[Operation]:
        """Return the operations that nobody has waited for yet, in their order."""
        return [operation for _, operation in self._open.values()]

    def standing(self) -> Standing:
        """Return where this rank stands, to a thread of ours."""
        found = places.threads_of_program()
        main = threading.main_thread().ident
        frames = places.stack(found.pop(main, None))
        with self._lock:
            waiting, since, limited = self._waiting.get(main, (None, NOWHERE, False))
            kept = {group: list(each) for group, each in self._collectives.items()}
            latest, works = dict(self._latest), [*self._open.values()]
        polls = None if waiting else self._polls
        if polls and places.only_polls(frames, polls[1]):
            waiting, since = polls
        moved, native = self._moved, flight.read(self.rank)
        unended = [oldest for _, oldest in native.values() if oldest]
        # In C++, where a thread does nothing but compute or wait for others.
        inside = bool(frames) and frames[-1][0] in private.files_that_wait()
        blocked = inside and not waiting
        if blocked and unended:  # for the oldest; of several groups it isn't known for which
            since = places.locate(frames).frame
            waiting = replace(unended[0], place=since)
        if blocked:
            moved += places.time_used(main)
        left_open = blocked and any(op.collective and not work.is_completed() for work, op in works)
        reasons = {
            "has other threads": found,
            "waits with a time limit of its own": limited,
            "has callbacks": any(not work.is_completed() for work in list(self._futures)),
            "handles signals": polls and waiting and places.handles_signals(),
            "serves remote calls": places.serves_calls(),
            "has left a collective open": left_open,
            "waits in several groups": blocked and len(unended) > 1,
        }
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        others = [
            (names.get(i, "a thread of C++"), self._waiting.get(i, (None,))[0], places.stack(frame))
            for i, frame in found.items()
        ]
        return Standing(
            self.rank, waiting, since, latest, kept, moved,
            next((reason for reason, holds in reasons.items() if holds), ""),
            frames, others, native,
        )  # fmt: skip

    # --- the wrappers ----------------------------------------------------------------------------

    def _wrap(self, name: str, record: Callable, *homes: Any) -> None:
        """Let record(own, …) see the program's calls of `name`, and not those of torch itself."""
        own = getattr(homes[0], name)

        @functools.wraps(own)
        def wrapped(*args, **kwargs):
            if getattr(self._inside, "torch", False):
                return own(*args, **kwargs)
            return record(own, *args, **kwargs)

        for home in homes:
            setattr(home, name, wrapped)

    def _posting(self, method: str, own: Callable, group, *args, **kwargs) -> Any:
        import torch.distributed as dist
        from torch.distributed.constants import default_pg_timeout

        name, place = called(sys._getframe(1))
        rest = [*args, *kwargs.values()]
        try:
            facts = facts_of(method, name, rest, tuple(dist.get_process_group_ranks(group)))
        except (TypeError, ValueError, LookupError, AttributeError, RuntimeError):
            return own(group, *args, **kwargs)  # torch itself refuses it
        world = group is dist.group.WORLD
        operation = self._begun(group=self._name(group), world=world, place=place, **facts)
        # Of monitored_barrier, which is given torch's own limit where the program names none.
        limited = any(isinstance(each, timedelta) and each < default_pg_timeout for each in rest)
        with self.waiting(operation, place, limited, ("isend",)):
            if self.check:
                self.check.before(operation)
            try:
                work = own(group, *args, **kwargs)
            except (RuntimeError, ValueError):
                if self.check and operation.gives + operation.takes:
                    self.check.after(operation)  # where torch refuses parts, it may say more
                raise
        if work is not None:
            self.remember(work, operation)
        return work

    def _awaiting(self, own: Callable, work, *args, **kwargs) -> Any:
        with self._lock:
            _, operation = self._open.pop(id(work), (None, None))
        if operation is None:
            return own(work, *args, **kwargs)
        limited = any(value is not None for value in (*args, *kwargs.values()))
        since, recorded = caller(sys._getframe(1)), ("send", *RECEIVES)
        with self.waiting(operation, since, limited, recorded):
            return own(work, *args, **kwargs)

    def _asked(self, own: Callable, work) -> bool:
        done = own(work)
        _, operation = self._open.get(id(work), (None, None))
        if operation and threading.current_thread() is threading.main_thread():
            self._moved += done and self._polls is not None
            self._polls = None if done else (operation, caller(sys._getframe(1)))
        return done

    def _promising(self, own: Callable, work) -> Any:
        self._futures.add(work)  # its callback runs in a thread of C++, and may send
        return own(work)

    def _beginning(self, own: Callable, backend=None, init_method=None, **options) -> Any:
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

    def _making(self, own: Callable, ranks=None, *args, **kwargs) -> Any:
        """Wait for all ranks that must create a group.

        torch wants every rank to create every group, and checked mode makes sure of it, but torch
        itself waits for the members alone. With use_local_synchronization only they may call.
        """
        import torch.distributed as dist

        world = tuple(range(dist.get_world_size()))
        local = bool(kwargs.get("use_local_synchronization")) and ranks is not None
        members = tuple(sorted(ranks)) if ranks is not None else world
        if local and self.rank not in members:
            return own(ranks, *args, **kwargs)
        detail, group = f"ranks {', '.join(map(str, members))}", self._name(dist.group.WORLD)
        if local:
            group = LOCAL + detail
            # A part of the name under which torch's ranks meet.
            made = many(private.groups_made() - 1, "group")
            detail += f"; this rank has made {made} before"
        operation = self._begun(
            name=NEW_GROUP, kind=NEW_GROUP, group=group, detail=detail, world=not local,
            members=world if self.check and not local else members, place=caller(sys._getframe(1)),
        )  # fmt: skip
        with self.waiting(operation, operation.place):
            if self.check:
                self.check.before(operation)
            return own(ranks, *args, **kwargs)

    def _refuse(self, group: Any, peer: int | None, inside: int | None) -> None:
        """Raise NoSuchRank if the rank that a call names isn't there. inside: within its group."""
        import torch.distributed as dist

        try:
            members = dist.get_process_group_ranks(group)
        except (TypeError, ValueError, KeyError, RuntimeError):
            return  # torch refuses it
        if inside is not None:
            peer = members[inside] if 0 <= inside < len(members) else None
        name = called(sys._getframe(2))[0]
        itself = peer == self.rank and name in (*SENDS, *RECEIVES)
        if peer not in members or itself:
            world = group in (None, dist.group.WORLD)
            raise NoSuchRank(cases.no_such_rank(name, self.rank, peer, inside, members, world))

    # --- the record ------------------------------------------------------------------------------

    def note(self, operation: Operation) -> None:
        """Record an operation before it begins."""
        with self._lock:
            self._moved += 1
            if operation.collective:
                kept = self._collectives.setdefault(operation.group, deque(maxlen=KEPT))
                kept.append(operation)

    def remember(self, work: Any, operation: Operation) -> None:
        """Keep a work, with what it belongs to, until the program waits for it."""
        with self._lock:
            self._open[id(work)] = (work, operation)
            if len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]

    @contextlib.contextmanager
    def waiting(self, operation: Operation, since: Frame, limited=False, recorded=()):
        """Record that this thread waits while the body runs; what torch calls there is its own.

        limited: whether the wait has a time limit of its own. recorded: the messages of which the
            `Recorder`, if there is one, records the body.
        """
        thread, span = threading.get_ident(), contextlib.nullcontext()
        if self.recorder and operation.name in recorded:
            way = "send" if operation.sends else "recv"
            span = self.recorder.span(way, peer=operation.peer)
        self._waiting[thread] = (operation, since, limited)
        self._inside.torch = True
        try:
            with span:
                yield
        except RuntimeError as error:
            if told := cases.message_missed(operation, since, str(error), self.explains):
                raise RuntimeError(told) from error
            raise
        finally:
            self._inside.torch = False
            self._waiting.pop(thread, None)
            self._moved += 1

    def _name(self, group: Any) -> str:
        name = group.group_name
        return f"{name} of {self.worlds}" if self.worlds > 1 else name

    def _begun(self, **facts: Any) -> Operation:
        """Record an operation, with its number on its channel and how often it was called there."""
        operation = Operation(rank=self.rank, **facts)
        key, times = (operation.place, operation.name), 1
        with self._lock:
            if operation.collective and "object" not in operation.name:
                times = self._calls[key] = self._calls[key] + 1
            before = self._latest.get(operation.channel)
            operation = replace(operation, index=before.index + 1 if before else 0, times=times)
            self._latest[operation.channel] = operation
        self.note(operation)
        return operation
