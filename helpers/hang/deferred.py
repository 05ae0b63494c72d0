"""A Work that stands in for torch's own until torch has begun."""

import threading
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist


class Deferred(dist.Work):
    """An asynchronous operation that may not have begun; it answers as torch's own Work does."""

    def __init__(self):
        super().__init__()
        self._begun = threading.Event()
        self._passed_on = False  # what its futures hold: their callbacks may have run right then
        self._work: Any = None
        self._error: Exception | None = None
        self._futures: list[torch.futures.Future] = []  # asked for before it has begun
        self._asking = threading.Lock()

    def begin(self, work: Any) -> None:
        """Take torch's Work, now that it has begun (None if there is nothing to wait for)."""
        with self._asking:
            self._work = work
            self._begun.set()
        for future in self._futures:
            try:
                self._work.get_future().add_done_callback(lambda done, to=future: _pass(done, to))
            except Exception as error:  # torch's own for a message: it has no future
                future.set_exception(error)
        self._passed_on = True

    def fail(self, error: Exception) -> None:
        """Note that it will never begin; whoever waits gets the error."""
        with self._asking:
            self._error = error
            self._begun.set()
        for future in self._futures:
            future.set_exception(error)
        self._passed_on = True

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for it to begin and to end.

        Raises:
            RuntimeError: torch's own, if that takes longer than `timeout`.
            Exception: the one that kept it from beginning.
        """
        if not self._begun.wait(timeout.total_seconds() if timeout else None):
            raise RuntimeError("Operation timed out!")
        if self._error is not None:
            raise self._error
        if self._work is None:
            return True
        return self._work.wait(timeout) if timeout else self._work.wait()

    def is_completed(self) -> bool:
        return self._passed_on and (self._work is None or self._work.is_completed())

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        return self._error

    def result(self) -> list[torch.Tensor]:
        """Return the tensors of a collective that has completed.

        Raises:
            RuntimeError: torch's own, if it has not.
        """
        if not self.is_completed() or self._work is None:
            raise RuntimeError("Work needs to be completed before calling result().")
        return self._work.result()

    def get_future(self) -> Any:
        """Return torch's own future, or one that passes on what torch's will hold."""
        with self._asking:
            if not self._begun.is_set():
                self._futures.append(torch.futures.Future())
                return self._futures[-1]
        if self._error is not None:
            raise self._error
        return self._work.get_future()


def _pass(done: torch.futures.Future, to: torch.futures.Future) -> None:
    try:
        to.set_result(done.value())
    except Exception as error:  # what kept it from completing
        to.set_exception(error)
