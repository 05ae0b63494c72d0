"""Watch torch.distributed: write every call down before it starts.

A rank that waits inside torch can say nothing. So each function of torch.distributed is wrapped:
the wrapper writes down who wants what from whom, at which line; another thread of the rank answers
when it is asked (`Watch.standing`). In checked mode the ranks also compare what they are about to
do (`helpers.hang.agree`).
"""

import functools
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from helpers.hang import calls, flight
from helpers.hang.agree import Agreement
from helpers.hang.log import Log, Standing
from helpers.hang.match import Phrase, place_of
from helpers.hang.operation import Operation
from helpers.hang.places import Frame, caller

MOST_KEPT = 256  # asynchronous operations that nobody has waited for


@functools.cache
def the_watch() -> "Watch":
    """The watch of this process: there is one torch.distributed to watch."""
    return Watch()


class Watch:
    """The wrapped torch.distributed of one process."""

    def __init__(self):
        self.log = Log()
        self.agreement: Agreement | None = None  # checked mode, once the ranks are connected
        self._mistake: Callable[[Exception], None] = _say
        self._phrase = place_of
        self._inside = threading.local()  # torch's own calls of its own functions do not count
        self._works: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._kept: dict[int, Any] = {}  # started, and not waited for
        self._begun = False

    def begin(
        self,
        rank: int,
        mistake: Callable[[Exception], None] | None = None,
        phrase: Phrase = place_of,
    ) -> None:
        """From now on write down what this process, which is rank `rank`, asks of torch.

        mistake: called in a thread with what checked mode refuses while the program does something
        else. phrase: says where an operation was asked for.
        """
        self.log.rank = rank
        self._mistake, self._phrase = mistake or _say, phrase
        if not self._begun:
            self._begun = True
            self._wrap()

    def standing(self, frames: list[Frame], threads: bool = False) -> Standing:
        """Where this rank stands. frames: the main thread's stack; threads: others may act."""
        return self.log.standing(frames, threads, flight.read())

    def check(self, store, timeout: float) -> None:
        """From now on compare every operation with the other ranks' before it starts.

        store: torch's store of all ranks. timeout: seconds to wait for another rank.
        """
        self.agreement = Agreement(store, self._mistake, timeout, self._phrase)

    def rest(self) -> None:
        """From now on write down nothing that this thread asks: in a race it would count."""
        self._inside.call = True

    def _wrap(self) -> None:
        import torch.distributed as dist
        from torch.distributed import distributed_c10d as c10d

        from helpers.hang.deferred import Deferred

        for name, (function, signature) in calls.signatures().items():
            watched = self._watched(name, function, signature)
            for module in (dist, c10d):  # torch's own code looks them up in c10d
                if hasattr(module, name):
                    setattr(module, name, watched)
        for work in (dist.Work, Deferred):
            work.wait = self._watched_wait(work.wait)

    def _watched(self, name: str, function: Callable, signature) -> Callable:
        @functools.wraps(function)
        def watched(*args, **kwargs) -> Any:
            if getattr(self._inside, "call", False):
                return function(*args, **kwargs)
            place = caller(sys._getframe(1))
            operation, later = calls.describe(name, signature, args, kwargs, self.log, place)
            if operation is None:
                return function(*args, **kwargs)
            self.log.note(operation)
            call = functools.partial(self._plain, function, args, kwargs)
            if later:
                return self._remember(self._start(operation, call), operation)
            with self.log.waiting(operation, place):
                if self.agreement:
                    self.agreement.before(operation)
                return call()

        return watched

    def _start(self, operation: Operation, call: Callable) -> Any:
        """Start an operation that goes on while the program does something else."""
        return self.agreement.start(operation, call) if self.agreement else call()

    def _remember(self, work: Any, operation: Operation) -> Any:
        """Note what a Work belongs to, and keep it until somebody waits for it.

        gloo waits in the destructor of a Work that nobody kept, with Python's lock in its hand: the
        rank would stand still and could not even say so.
        """
        if work is not None:
            self._works[work] = operation
            self._kept[id(work)] = work
            if len(self._kept) > MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
        return work

    def _plain(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        """Call torch's own function; what it calls in turn is not written down."""
        self._inside.call = True
        try:
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
            with self.log.waiting(operation, caller(sys._getframe(1))):
                return wait(work, *args, **kwargs)

        return watched


def _say(mistake: Exception) -> None:
    print(f"[ranks] {mistake}", file=sys.stderr, flush=True)
