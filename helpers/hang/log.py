"""What one rank has asked for, and what it waits for now."""

import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from helpers.hang.operation import Operation
from helpers.hang.places import Frame

KEPT = 64  # collectives of a group that are remembered


@dataclass(frozen=True)
class Standing:
    """Where one rank stands, as it tells the process that asks.

    waiting: what its main thread waits for, or None; since: the place of the wait itself.
    posted: channel -> how many operations were posted on it.
    collectives: group -> the last ones called, by this rank.
    calls: place -> how often an operation was called there.
    native: collectives that started inside C++ (`helpers.hang.flight`).
    moved: goes up whenever an operation begins or ends.
    threads: whether other threads of the program could still act.
    frames: the stack of the main thread, the outermost frame first.
    """

    rank: int
    waiting: Operation | None = None
    since: Frame = ("", 0, "")
    posted: dict[tuple, int] = field(default_factory=dict)
    collectives: dict[str, list[Operation]] = field(default_factory=dict)
    calls: dict[Frame, int] = field(default_factory=dict)
    native: "object | None" = None
    moved: int = 0
    threads: bool = False
    frames: list[Frame] = field(default_factory=list)


class Log:
    """The operations of this rank; any thread may write, another one reads."""

    def __init__(self, rank: int = -1):
        self.rank = rank
        self._lock = threading.Lock()
        self._posted: Counter[tuple] = Counter()
        self._calls: Counter[Frame] = Counter()
        self._collectives: dict[str, deque[Operation]] = {}
        self._waiting: dict[int, tuple[Operation, Frame]] = {}  # by thread
        self._moved = 0

    def next_index(self, channel: tuple) -> int:
        """The index of the next operation on a channel; it counts as posted from now on."""
        with self._lock:
            self._posted[channel] += 1
            self._moved += 1
            return self._posted[channel] - 1

    def times(self, place: Frame) -> int:
        """How often something was called at a place, with the call that is described now."""
        with self._lock:
            self._calls[place] += 1
            return self._calls[place]

    def note(self, operation: Operation) -> None:
        """Remember an operation that was posted."""
        with self._lock:
            if operation.collective:
                kept = self._collectives.setdefault(operation.group, deque(maxlen=KEPT))
                kept.append(operation)

    @contextmanager
    def waiting(self, operation: Operation, since: Frame) -> Iterator[None]:
        """This thread waits for the operation while the body runs. since: where it waits."""
        thread = threading.get_ident()
        self._waiting[thread] = (operation, since)
        try:
            yield
        finally:
            self._waiting.pop(thread, None)
            self._moved += 1

    def standing(self, frames: list[Frame], threads: bool, native: object | None) -> Standing:
        """Where the rank stands now; called from the thread that answers questions."""
        operation, since = self._waiting.get(threading.main_thread().ident, (None, ("", 0, "")))
        with self._lock:
            return Standing(
                self.rank,
                operation,
                since,
                dict(self._posted),
                {group: list(kept) for group, kept in self._collectives.items()},
                dict(self._calls),
                native,
                self._moved,
                threads,
                frames,
            )
