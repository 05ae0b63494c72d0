"""A rank under somebody else's launcher says for whom it waits, if a wait lasts for long.

Where helpers.ranks starts the ranks, it asks all of them and explains a hang. Below srun, torchrun
or mpirun nobody asks: a deadlock or a cut cable is silence until gloo's time-out. So each rank
keeps a record of the call of torch.distributed that it is in, and a thread looks at it once a
second: a wait of ten seconds is told once, on stderr. What the rank does stays as it is, and a call
costs a microsecond more: what it waits for is found out only when it is told.
"""

import atexit
import functools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from helpers.hang import calls, notes, threads
from helpers.hang.log import Log
from helpers.hang.operation import Operation
from helpers.hang.places import Frame, caller, locate
from helpers.words import names

SAY_AFTER_S = 10.0  # after this long a rank says for whom it waits
LOOK_S = 1.0  # how often the thread looks
END_S = 5.0  # how long a rank that ends waits for the thread, which may be asking the store
WAIT = "wait"  # the name of a call of work.wait()


@dataclass(eq=False, slots=True)
class Call:
    """A call of torch.distributed that a thread of this rank is in.

    frame: of the caller. posted: for work.wait(), name and arguments of the call that gave it.
    begun: on time.monotonic(). reported: whether its wait has been told.
    """

    name: str
    args: tuple
    kwargs: dict[str, Any]
    frame: FrameType
    begun: float
    reported: bool = False
    posted: tuple[str, tuple, dict[str, Any]] | None = None

    def operation(self, rank: int) -> Operation | None:
        """Return what the call asks for, or None if that is not known.

        Raises:
            NoSuchRank: if it waits for a rank that doesn't exist.
        """
        name, args, kwargs = self.posted or (self.name, self.args, self.kwargs)
        if name == WAIT:
            return None
        signature = _signatures()[name][1]
        place = caller(self.frame)
        return calls.operation_of(name, signature, args, kwargs, Log(rank), place)[0]


@functools.cache
def the_watch() -> "Watch":
    """Return the watch of this process: there is one torch.distributed to record."""
    return Watch()


@functools.cache
def _signatures() -> dict:
    return calls.signatures()


class Watch:
    """The calls of one process, and the thread that looks at them."""

    def __init__(self):
        self.rank, self.log, self._meeting = -1, None, None
        self._calls: dict[int, Call] = {}  # by thread
        self._works: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._least: dict[Frame, float] = {}  # by place: how long a wait there must last to be told
        self._end, self._thread = threading.Event(), None
        self._wrapped = False

    def begin(
        self, rank: int, native: bool, timeout: float, log: Log | None = None, meeting: Any = None
    ) -> None:
        """Watch from now on; `end` ends it.

        Args:
            rank: the rank of this process.
            native: whether waits of torch's own C++, as in DDP's backward pass, are seen too: a
                thread that waits for a GPU would look the same.
            log: checked mode's, which records the calls already.
            timeout: seconds after which torch ends a wait by itself.
            meeting: checked mode's too: all ranks, `helpers.ranks.deadlock.Meeting`.
        """
        self.rank, self.log, self._meeting = rank, log, meeting
        self._limit = timeout + SAY_AFTER_S
        if log is None and not self._wrapped:
            self._wrapped = True
            self._wrap()
        self._end = threading.Event()
        self._thread = threading.Thread(
            target=self._look, args=(self._end, native), daemon=True, name="watch of waits"
        )
        self._thread.start()
        atexit.register(self.end)  # for a program that doesn't disconnect

    def end(self) -> None:
        """Say nothing any more.

        The thread must have ended before Python does: where it then lets go of a tensor, or comes
        back from the store, Python would end it inside C++, and that aborts the process.
        """
        self._end.set()
        if self._thread:
            self._thread.join(END_S)

    # --- in the program's own threads ------------------------------------------------------------

    def _wrap(self) -> None:
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d

        for name, (function, _) in _signatures().items():
            noted = self._noted(name, function)
            for module in (dist, c10d):
                if hasattr(module, name):
                    setattr(module, name, noted)
        dist.Work.wait = self._noted_wait(dist.Work.wait)

    def _noted(self, name: str, function: Callable) -> Callable:
        from torch.compiler import is_compiling
        from torch.distributed import Work

        @functools.wraps(function)
        def noted(*args, **kwargs) -> Any:
            me = threading.get_ident()
            if is_compiling() or me in self._calls:  # a call inside torch's own call
                return function(*args, **kwargs)
            call = Call(name, args, kwargs, sys._getframe(1), time.monotonic())
            self._calls[me] = call  # as a local too: an error's traceback holds it
            try:
                result = function(*args, **kwargs)
            finally:
                del self._calls[me]
            if isinstance(result, Work):
                self._works[result] = (name, args, kwargs)
            return result

        return noted

    def _noted_wait(self, wait: Callable) -> Callable:
        @functools.wraps(wait)
        def noted(work, *args, **kwargs) -> Any:
            me = threading.get_ident()
            if me in self._calls:
                return wait(work, *args, **kwargs)
            call = Call(WAIT, (), {}, sys._getframe(1), time.monotonic())
            call.posted = self._works.get(work)
            self._calls[me] = call
            try:
                return wait(work, *args, **kwargs)
            finally:
                del self._calls[me]

        return noted

    # --- in the thread that looks ----------------------------------------------------------------

    def _look(self, end: threading.Event, native: bool) -> None:
        inside, checked = Still(), Still()
        while not end.wait(min(LOOK_S, SAY_AFTER_S / 4)):
            self._look_once(inside, checked, native)

    def _look_once(self, inside: "Still", checked: "Still", native: bool) -> None:
        """Tell what has waited for long; no frame, and so no tensor, is held after that."""
        for call in list(self._calls.values()):
            seconds = time.monotonic() - call.begun
            if seconds >= SAY_AFTER_S and not call.reported:
                call.reported = True
                place = caller(call.frame)
                try:
                    self._tell(seconds, call.operation(self.rank), place)
                except calls.NoSuchRank as error:
                    say(f"{error}{locate([place]).phrase}")
        main = threading.main_thread().ident
        if self.log and (waiting := self.log.thread(main, "", [])).waiting:
            if seconds := checked.since((waiting.waiting, waiting.since)):
                self._tell(seconds, waiting.waiting, waiting.since)
            if checked.reported:
                self._meet()
                if checked.lasts > self._limit and self._reads_notes(main):
                    self._give_up(checked.lasts, waiting.waiting, waiting.since)
        elif native and main not in self._calls:
            frame = sys._current_frames().get(main)
            used, frames = threads.time_used(main), threads.stack(frame)
            state = (used, frames) if used and threads.inside_torch(frames) else None
            if seconds := inside.since(state):
                self._tell(seconds, None, caller(frame))

    def _meet(self) -> None:
        """Tell the deadlock that this rank and all others are in, once."""
        try:
            if self._meeting and (found := self._meeting.deadlock()):
                say(f"{found.sentence}\n{found.details}")
                self._meeting = None
        except (RuntimeError, OSError):  # the store has gone, or is out of reach: go on
            self._meeting = None

    @staticmethod
    def _reads_notes(thread: int) -> bool:
        """Return whether a thread is in a call of the store, which then is beyond its time limit.

        Where the network is cut torch takes back its question to the store when the time is up,
        and waits for an answer to that without a limit.
        """
        frame = sys._current_frames().get(thread)
        return frame is not None and frame.f_globals.get("__name__") == notes.__name__

    def _give_up(self, seconds: float, operation: Operation, place: Frame) -> None:
        """End this process: the store of all ranks has gone."""
        sys.stderr.write(
            f"error: rank {self.rank} {operation.doing}{locate([place]).phrase}, and rank 0, which "
            f"keeps the notes of all ranks, has not answered for {seconds:.0f} s: it has ended, or "
            "the network between them is down\n"
        )
        sys.stderr.flush()
        os._exit(1)

    def _tell(self, seconds: float, operation: Operation | None, place: Frame) -> None:
        """Tell a wait; at the same line again only one that lasts twice as long."""
        if seconds < self._least.get(place, 0):
            return
        self._least[place] = 2 * seconds
        say(waits(self.rank, seconds, operation, place))


class Still:
    """How long something has been the same, by those who look."""

    def __init__(self):
        self._state, self._begun, self.reported = None, 0.0, False

    @property
    def lasts(self) -> float:
        """Return for how many seconds it has been so."""
        return time.monotonic() - self._begun

    def since(self, state: Any) -> float:
        """Return how many seconds it has been so, once that is long; else, and later, 0."""
        now = time.monotonic()
        if state is None or state != self._state:
            self._state, self._begun, self.reported = state, now, state is None
        if self.reported or now - self._begun < SAY_AFTER_S:
            return 0.0
        self.reported = True
        return now - self._begun


def say(sentence: str) -> None:
    """Print a sentence on stderr; in one piece, because other ranks print there too."""
    sys.stderr.write(f"[ranks] {sentence}\n")
    sys.stderr.flush()


def whom(operation: Operation | None) -> str:
    """Return the ranks that an operation waits for, in words: "rank 1", "one of ranks 1 and 2"."""
    if operation is None:
        return "another rank"
    if not operation.collective and operation.peer is not None:
        return f"rank {operation.peer}"
    others = [rank for rank in operation.members if rank != operation.rank]
    return f"{'one of ' * (len(others) > 1)}{names(others)}" if others else "itself"


def waits(rank: int, seconds: float, operation: Operation | None, place: Frame) -> str:
    """Return the sentence about a wait: how long, for whom, in what, and at which line."""
    what = f": it {operation.doing}" if operation else ", inside torch,"
    return (
        f"rank {rank} has waited {seconds:.0f} s for {whom(operation)}{what}"
        f"{locate([place]).phrase}"
    )
