"""Monitor torch.distributed: record every call before it starts.

A rank that is blocked inside torch can't say where. So each function of torch.distributed is
wrapped: the wrapper records who wants what from whom, at which line, and another thread of the
rank answers when the launcher asks (`Monitor.standing`). In checked mode the ranks also compare
what they are about to do (`helpers.hang.checked_mode`).
"""

import contextlib
import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from helpers.hang import calls, direct
from helpers.hang.log import Log, Standing
from helpers.hang.operation import Operation
from helpers.hang.places import Frame, caller

MOST_KEPT = 256  # asynchronous operations that the program hasn't waited for


@functools.cache
def the_monitor() -> "Monitor":
    """Return the monitor of this process: there is one torch.distributed to record."""
    return Monitor()


@contextlib.contextmanager
def record_messages(recorder: Any) -> Iterator[None]:
    """Let a `Recorder` record the messages of the body: "send" or "recv", each with its "peer".

    What doesn't block is recorded where it begins to be sent, or is waited for on arrival.
    """
    watch = the_monitor()
    watch.begin(recorder.rank)  # torchrun's ranks have not
    watch.recorder = recorder
    try:
        yield
    finally:
        watch.recorder = None


class Monitor:
    """The wrapped torch.distributed of one process."""

    def __init__(self):
        self.log = Log()
        self._preflight: Any = None  # checked mode, since its first operation
        self._to_check: tuple | None = None  # its store and time limit, before
        self._beginning = threading.Lock()
        self._mistake: Callable[[Exception], None] = _say
        self.recorder: Any = None  # a `Recorder` that wants the messages
        self._inside = threading.local()  # torch's own calls of its own functions do not count
        self._works: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._kept: dict[int, Any] = {}  # started, but not waited for
        self._futures: weakref.WeakSet = weakref.WeakSet()  # of these, the futures were asked for
        self._limited: set[int] = set()  # threads that wait with their own timeout
        self._begun = False

    def begin(self, rank: int, mistake: Callable[[Exception], None] | None = None) -> None:
        """Record from now on what this process, which is rank `rank`, asks of torch.

        Args:
            rank: the rank of this process.
            mistake: called in a thread with what checked mode refuses while the program does
                something else.
        """
        self.log.rank = rank
        self._mistake = mistake or self._mistake
        if not self._begun:
            self._begun = True
            self._wrap()

    def standing(
        self, returned: bool = False, finished: bool = False, others_act: bool = False
    ) -> Standing:
        """Return where this rank stands. Called from a thread that does nothing else.

        Args:
            returned: the program has ended, and its main thread waits for the others.
            finished: even that is over, and Python wouldn't wait for any thread that still runs.
            others_act: something besides the threads may act, such as a child process.
        """
        from helpers.hang import flight, threads  # a rank that is never asked needs neither

        self.rest()  # what this thread asks isn't part of the program
        found = threads.of_program()
        able = threads.able_to_act(found, returned or finished)
        main = threading.main_thread().ident
        ident = able[0] if len(able) == 1 and not finished else main
        stood = {
            number: self.log.thread(number, threads.name_of(number), threads.stack(frame))
            for number, frame in found.items()
        }
        mine = stood.pop(ident, None) or self.log.thread(ident, "", [])
        if returned or finished:
            stood.pop(main, None)
        blocked = threads.inside_torch(mine.frames) and not mine.waiting
        handled = (ident != main or mine.polls) and threads.handles_signals()
        return self.log.standing(
            mine,
            native=flight.read(),
            blocked=blocked,
            moved=threads.time_used(ident) if blocked else 0,
            threads=(
                others_act
                or len(able) > (0 if finished else 1)
                or ident in self._limited
                or self._calls_back()
                or handled
                or threads.serves_calls()
                or (blocked and self._open_collectives())
            ),
            returned=returned,
            others=list(stood.values()),
        )

    def not_waited_for(self) -> list[Operation]:
        """Return the asynchronous operations that nobody has waited for yet, in their order."""
        return [self._works[work] for work in list(self._kept.values())]

    def _open_collectives(self) -> bool:
        """Return whether the program has left a collective open; then C++ may not wait for it."""
        works = list(self._kept.values())
        return any(self._works[work].collective and not work.is_completed() for work in works)

    def _calls_back(self) -> bool:
        """Return whether some Work will run a callback: a thread of C++ does that, at its end."""
        return any(not work.is_completed() for work in list(self._futures))

    def check(self, store, timeout: float) -> None:
        """Compare from now on every operation with those of the other ranks before it starts.

        Args:
            store: torch's store of all ranks.
            timeout: seconds to wait for another rank.
        """
        self._to_check = store.clone(), timeout  # torch itself uses the other one, and waits in it

    def end(self) -> None:
        """End checked mode's thread: Python must not end while it's inside torch."""
        if self._preflight:
            self._preflight.end()

    @property
    def preflight(self) -> Any:
        """Checked mode's `PreflightCheck`, loaded for the first operation; or None."""
        if self._to_check:
            with self._beginning:
                self._begin_checking()
        return self._preflight

    def _begin_checking(self) -> None:
        from helpers.hang.checked_mode import PreflightCheck
        from helpers.hang.deferred import Deferred

        if self._to_check:
            store, timeout = self._to_check
            if not self._preflight:
                self._wrap_work(Deferred)
            self._preflight, self._to_check = PreflightCheck(store, self._mistake, timeout), None

    def rest(self) -> None:
        """Record nothing that this thread asks from now on: in a benchmark it would count."""
        self._inside.call = True

    def _wrap(self) -> None:
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d

        modules = (dist, c10d)  # torch's own code looks them up in c10d
        for name, (function, signature) in calls.signatures().items():
            watched = self._watched(name, function, self._reader(name, signature))
            for module in modules:
                if hasattr(module, name):
                    setattr(module, name, watched)
        for module in modules:
            module.init_process_group = self._watched_init(module.init_process_group)
        for name in direct.METHODS:
            if method := getattr(dist.ProcessGroup, name, None):
                watched = self._watched(direct.METHODS[name], method, direct.reader(name, self.log))
                setattr(dist.ProcessGroup, name, watched)
        dist.P2POp.__init__ = direct.watched_batch_op(dist.P2POp.__init__, self.log)
        self._wrap_work(dist.Work)

    def _wrap_work(self, work: type) -> None:
        work.wait = self._watched_wait(work.wait)
        work.is_completed = self._watched_question(work.is_completed)
        work.get_future = self._watched_future(work.get_future)

    def _reader(self, name: str, signature: inspect.Signature) -> Callable:
        """Return what makes an operation of the arguments of a call, and says if it is async."""

        def read(args: tuple, kwargs: dict, place: Frame) -> tuple[Operation | None, bool]:
            checked = self.preflight is not None
            return calls.operation_of(name, signature, args, kwargs, self.log, place, checked)

        return read

    def _watched_init(self, init: Callable) -> Callable:
        @functools.wraps(init)
        def watched(*args, **kwargs) -> Any:
            done = init(*args, **kwargs)
            self.log.worlds += 1
            return done

        return watched

    def _watched(self, name: str, function: Callable, read: Callable) -> Callable:
        @functools.wraps(function)
        def watched(*args, **kwargs) -> Any:
            if getattr(self._inside, "call", False):
                return function(*args, **kwargs)
            place = caller(sys._getframe(1))
            operation, later = read(args, kwargs, place)
            if operation is None:
                return function(*args, **kwargs)
            self.log.note(operation)
            call = functools.partial(self._plain, operation, function, args, kwargs)
            if later:
                with self._recorded(operation, "send"):
                    work = self.preflight.start(operation, call) if self.preflight else call()
                return self._remember(work, operation)
            limits = [value for value in (*args, *kwargs.values()) if isinstance(value, timedelta)]
            limited = name == "monitored_barrier" and bool(limits)
            recorded = self._recorded(operation, "send", "recv")
            with recorded, self._with_limit(limited), self.log.waiting(operation, place):
                if self.preflight:
                    (self.preflight.announce if limited else self.preflight.before)(operation)
                return call()

        return watched

    def _recorded(self, operation: Operation, *kinds: str) -> contextlib.AbstractContextManager:
        """Return what records the body, if it is a message of these kinds and somebody records."""
        kind = "send" if operation.sends else "recv" if operation.receives else ""
        if self.recorder is None or kind not in kinds:
            return contextlib.nullcontext()
        return self.recorder.span(kind, peer=operation.peer)

    def _remember(self, work: Any, operation: Operation) -> Any:
        """Record what a Work belongs to, and keep it until the program waits for it.

        gloo waits in the destructor of a Work that the program dropped, and holds Python's lock
        while it does: the rank would hang and couldn't even say so.
        """
        if work is not None:
            self._works[work] = operation
            self._kept[id(work)] = work
            if len(self._kept) > MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
        return work

    def _plain(self, operation: Operation, function: Callable, args: tuple, kwargs: dict) -> Any:
        """Call torch's own function; what it calls in turn isn't recorded."""
        self._inside.call = True
        try:
            with _explaining_a_close(operation):
                return function(*args, **kwargs)
        finally:
            self._inside.call = False

    def _watched_wait(self, wait: Callable) -> Callable:
        @functools.wraps(wait)
        def watched(work, *args, **kwargs) -> Any:
            operation = self._works.get(work)
            self._kept.pop(id(work), None)
            if operation is None or getattr(self._inside, "call", False):
                return wait(work, *args, **kwargs)
            with self._with_limit(any(value is not None for value in (*args, *kwargs.values()))):
                since, recorded = caller(sys._getframe(1)), self._recorded(operation, "recv")
                with recorded, self.log.waiting(operation, since), _explaining_a_close(operation):
                    return wait(work, *args, **kwargs)

        return watched

    def _watched_question(self, is_completed: Callable) -> Callable:
        @functools.wraps(is_completed)
        def watched(work) -> bool:
            completed = is_completed(work)
            operation = self._works.get(work)
            if operation is not None and not getattr(self._inside, "call", False):
                self.log.polled(operation, caller(sys._getframe(1)), completed)
            return completed

        return watched

    def _watched_future(self, get_future: Callable) -> Callable:
        @functools.wraps(get_future)
        def watched(work) -> Any:
            future = get_future(work)
            self._futures.add(work)
            return future

        return watched

    @contextlib.contextmanager
    def _with_limit(self, limited: bool) -> Iterator[None]:
        """Record that this thread's wait in the body may end by itself, if it is `limited`."""
        if limited:
            self._limited.add(threading.get_ident())
        try:
            yield
        finally:
            self._limited.discard(threading.get_ident())


@contextlib.contextmanager
def _explaining_a_close(operation: Operation) -> Iterator[None]:
    """Say why gloo has closed a connection, where all that it says is that it has."""
    try:
        yield
    except RuntimeError as error:
        if "timeout caused pair closure" not in str(error):
            raise
        raise RuntimeError(
            f"rank {operation.rank} {operation.doing}, but an earlier wait on the same connection "
            "ran out of time, and gloo then closes the connection for good: wait() without a "
            "time limit for messages, or give the group a longer one"
        ) from error


def _say(mistake: Exception) -> None:
    print(f"[ranks] {mistake}", file=sys.stderr, flush=True)
