"""What one rank has asked torch for, and what it is waiting for."""

import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from helpers.hang.operation import Operation
from helpers.hang.places import Frame

KEPT = 64  # collectives of a group that are remembered
OURS = "checked mode"  # the name of its threads, which start what the program asked for


@dataclass(frozen=True)
class ThreadStanding:
    """Where one thread of a rank stands.

    waiting: what it waits for, or None; since: the place of the wait itself.
    polls: what it last asked for with is_completed() and was told "not yet", and where.
    frames: its stack, the outermost frame first.
    """

    name: str
    waiting: Operation | None = None
    since: Frame = ("", 0, "")
    polls: tuple[Operation, Frame] | None = None
    frames: list[Frame] = field(default_factory=list)


@dataclass(frozen=True)
class Standing:
    """Where one rank stands, as it reports to the launcher.

    waiting: what the rank waits for, or None; since: the place of the wait itself. The rank waits
        where the one thread waits that can still act; in most programs that is the main thread.
    polls: what that thread asks for with is_completed(), and where; None while it waits.
    posted: channel -> how many operations were posted on it; latest: the last of them.
    collectives: group -> the last ones called, by this rank.
    calls: place and name -> how often that operation was called there.
    native: collectives that started inside C++ (`helpers.hang.flight`).
    blocked: whether it stands inside torch's C++, where it may wait for those.
    moved: changes whenever an operation begins or ends.
    threads: whether something else of the process could still act: another thread, a callback, a
        wait with its own timeout, a child process.
    frames: the stack of that thread, the outermost frame first.
    returned: whether the program itself has ended, and the process waits for its threads only.
    thread: the name of the thread that all this is about, "" for the main thread.
    others: the other threads of the program.
    """

    rank: int
    waiting: Operation | None = None
    since: Frame = ("", 0, "")
    posted: dict[tuple, int] = field(default_factory=dict)
    collectives: dict[str, list[Operation]] = field(default_factory=dict)
    calls: dict[tuple[Frame, str], int] = field(default_factory=dict)
    native: "object | None" = None
    moved: int = 0
    threads: bool = False
    frames: list[Frame] = field(default_factory=list)
    polls: tuple[Operation, Frame] | None = None
    latest: dict[tuple, Operation] = field(default_factory=dict)
    blocked: bool = False
    returned: bool = False
    thread: str = ""
    others: list[ThreadStanding] = field(default_factory=list)


class Log:
    """The operations of this rank; any thread may write, another one reads."""

    def __init__(self, rank: int = -1):
        self.rank = rank
        self.worlds = 0  # how often torch has been initialized: it uses the names of groups again
        self._lock = threading.Lock()
        self._posted: Counter[tuple] = Counter()
        self._calls: Counter[tuple[Frame, str]] = Counter()
        self._collectives: dict[str, deque[Operation]] = {}
        self._latest: dict[tuple, Operation] = {}  # by channel: the last message
        self._waiting: dict[int, tuple[Operation, Frame]] = {}  # by thread
        self._polling: dict[int, tuple[Operation, Frame]] = {}  # by thread
        self._moved = 0

    def group_name(self, name: str) -> str:
        """Return torch's name of a group, made different for each time torch is initialized."""
        return f"{name} of {self.worlds}" if self.worlds > 1 else name

    def next_index(self, channel: tuple) -> int:
        """Return the index of the next operation on a channel, and count it as posted."""
        with self._lock:
            self._posted[channel] += 1
            self._moved += 1
            return self._posted[channel] - 1

    def times(self, place: Frame, name: str) -> int:
        """Count a call of `name` at a place, and return how many there have been."""
        with self._lock:
            self._calls[place, name] += 1
            return self._calls[place, name]

    def note(self, operation: Operation) -> None:
        """Record an operation that was posted."""
        with self._lock:
            if operation.collective:
                kept = self._collectives.setdefault(operation.group, deque(maxlen=KEPT))
                kept.append(operation)
            else:
                self._latest[operation.channel] = operation

    @contextmanager
    def waiting(self, operation: Operation, since: Frame) -> Iterator[None]:
        """Record that this thread waits for the operation while the body runs. since: where."""
        thread = threading.get_ident()
        self._waiting[thread] = (operation, since)
        try:
            yield
        finally:
            self._waiting.pop(thread, None)
            self._moved += 1

    def polled(self, operation: Operation, since: Frame, completed: bool) -> None:
        """Record that this thread has asked whether an operation is completed. since: where."""
        thread = threading.get_ident()
        if completed:
            self._moved += self._polling.pop(thread, None) is not None
        else:
            self._polling[thread] = (operation, since)

    def thread(self, ident: int, name: str, frames: list[Frame]) -> ThreadStanding:
        """Return where one thread stands now. frames: its stack."""
        operation, since = self._waiting.get(ident, (None, ("", 0, "")))
        polls = None if operation else self._polling.get(ident)
        return ThreadStanding(name, operation, since, polls, frames)

    def standing(self, thread: ThreadStanding, **facts) -> Standing:
        """Return where the rank stands, judged by `thread`. facts: what else is known.

        Called from the thread that answers the launcher.
        """
        with self._lock:
            facts["moved"] = self._moved + facts.get("moved", 0)
            return Standing(
                self.rank,
                thread.waiting,
                thread.since,
                dict(self._posted),
                {group: list(kept) for group, kept in self._collectives.items()},
                dict(self._calls),
                frames=thread.frames,
                polls=thread.polls,
                latest=dict(self._latest),
                thread=thread.name,
                **facts,
            )
