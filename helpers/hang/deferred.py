"""An operation that the program has started, and that torch has not begun yet."""

import threading
from datetime import timedelta
from typing import Any

import torch.distributed as dist


class Deferred(dist.Work):
    """Stands for torch's own Work, which comes later."""

    def __init__(self):
        super().__init__()
        self._begun = threading.Event()
        self._work: Any = None
        self._error: Exception | None = None

    def begin(self, work: Any) -> None:
        """torch has begun: this is its Work (None where it has nothing to wait for)."""
        self._work = work
        self._begun.set()

    def fail(self, error: Exception) -> None:
        """It will never begin; whoever waits gets the error."""
        self._error = error
        self._begun.set()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for it to begin and to end. Raises what kept it from beginning."""
        self._begun.wait(timeout.total_seconds() if timeout else None)
        if self._error is not None:
            raise self._error
        if self._work is None:
            return True
        return self._work.wait(timeout) if timeout else self._work.wait()

    def is_completed(self) -> bool:
        return self._begun.is_set() and (self._work is None or self._work.is_completed())

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        return self._error

    def get_future(self) -> Any:
        """torch's own future; waits for the beginning."""
        self._begun.wait()
        if self._error is not None:
            raise self._error
        return self._work.get_future()
