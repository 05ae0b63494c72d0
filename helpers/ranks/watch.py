"""A rank under somebody else's launcher says for whom it waits, and rank 0 names a deadlock.

Where helpers.ranks starts the ranks, it asks all of them and explains a hang. Below srun, torchrun
or mpirun nobody asks: a deadlock or a cut cable is silence until gloo's time-out. So a thread of
each rank looks once a second where it stands. A wait that lasts is told once, on stderr, and while
it lasts the rank leaves a note of where it stands in the store of all ranks. Rank 0 reads those of
all, as one, so that they belong to one moment. If no rank has moved between two readings, of which
each rank has written the second anew, what explains hangs of helpers.ranks gets them.

A note is Python's own notation of plain facts, never a pickle (docs/security.md).
"""

import ast
import atexit
import functools
import os
import re
import sys
import threading
import time
import traceback
from collections import deque
from dataclasses import astuple, replace
from typing import Any

from helpers.hang import checked
from helpers.hang.cases import message_missed, store_is_gone, waits_long
from helpers.hang.monitor import Standing, the_monitor
from helpers.hang.operation import Operation
from helpers.hang.places import locate
from helpers.hang.threads import OURS
from helpers.plain_errors import TELLERS
from helpers.ranks.store import Place

SAY_AFTER_S = 10.0  # after this long a rank says for whom it waits
LOOK_S = 1.0  # how often the thread looks
END_S = 5.0  # how long a rank that ends waits for the thread, which may be asking the store
READINGS = 4  # the last is compared with the first: a slow machine may leave no note in between
GLOO = re.compile(
    r"\[\S+\.cc:\d+\] "
)  # its own file and line, with which each of its errors begins
LATE = re.compile(r"(?:Timed out waiting|wait timeout after) (\d+)ms")
# What torch says on a rank whose partner has gone: the echo of a failure, not its cause.
ECHOES = (
    "connection closed by peer",
    "connection reset by peer",
    "connection refused",
    "broken pipe",
    "socket closed",
    "remote process exited",
    "connection was likely closed",
)


@functools.cache
def the_watch() -> "Watch":
    """Return the watch of this process."""
    return Watch()


class Watch:
    """The thread that looks where this rank stands."""

    def __init__(self) -> None:
        self._end, self._thread = threading.Event(), None

    def begin(self, place: Place, native: bool, store: Any, timeout: float) -> None:
        """Watch from now on; `end` ends it.

        Args:
            native: whether waits of torch's own C++, as in DDP's backward pass, are seen too: a
                thread that waits for a GPU would look the same.
            store: where all ranks leave their notes.
            timeout: seconds after which torch ends a wait by itself.
        """
        tell_broken_messages(place.rank)
        self._end = threading.Event()
        facts = (self._end, place, native, store, timeout + SAY_AFTER_S)
        self._thread = threading.Thread(target=_look, args=facts, daemon=True, name=f"{OURS}watch")
        self._thread.start()
        atexit.register(self.end)  # for a program that doesn't disconnect

    def end(self) -> None:
        """Say nothing any more.

        The thread must have ended before Python does, which would end it inside C++, and that
        aborts the process.
        """
        self._end.set()
        if self._thread:
            self._thread.join(END_S)


def _look(end: threading.Event, place: Place, native: bool, store: Any, limit: float) -> None:
    """Look until the end, in a thread."""
    count, seen, since, told = 0, None, 0.0, False
    least: dict = {}  # by place: how long a wait there must last to be told again
    readings: deque[list | None] = deque(maxlen=READINGS)
    while not end.wait(min(LOOK_S, SAY_AFTER_S / 4)):
        stands, now = the_monitor().standing(), time.monotonic()
        state = (stands.moved, stands.waiting, stands.since)
        if state != seen or not (stands.waiting or (native and stands.blocked)):
            seen, since, told = state, now, False
            readings.clear()
            continue
        where, waited = locate([stands.since] if stands.waiting else stands.frames), now - since
        if not told and waited >= SAY_AFTER_S and waited >= least.get(where.frame, 0):
            told, least[where.frame] = True, 2 * waited
            say(waits_long(place.rank, waited, stands.waiting, where.phrase))
        asks = any(frame[0] == checked.__file__ for frame in stands.frames)
        if asks and waited > limit:
            # It asks for notes: torch waits for an answer of the store without a limit.
            told_last = store_is_gone(stands.waiting, where.phrase, waited)
            sys.stderr.write(f"error: {told_last}\n")
            sys.stderr.flush()
            os._exit(1)
        if store is None or asks or waited < SAY_AFTER_S / 2:
            continue  # a store that doesn't answer would hold this thread, too
        try:
            count += 1
            store.set(str(place.rank), repr((count, astuple(stands))))
            if place.rank == 0 and (found := _deadlock(store, place.world_size, readings)):
                say(f"{found.told[0]}\n{found.details}")
                store, told = None, True
        except (RuntimeError, OSError):  # the store has gone, or is out of reach: go on
            store = None


def _deadlock(store: Any, ranks: int, readings: deque) -> Any:
    """Return the diagnosis of the deadlock in which all ranks are, or None."""
    from helpers.hang.verdict import Snapshot

    keys = [str(rank) for rank in range(ranks)]
    notes = store.multi_get(keys) if store.check(keys) else None
    readings.append(notes and [ast.literal_eval(note.decode()) for note in notes])
    before, now = readings[0], readings[-1]
    if not before or not now or len(readings) < READINGS:
        return None
    for (count, stood), (later, stands) in zip(before, now, strict=True):
        if later <= count or stands[MOVED] != stood[MOVED]:
            return None
    found = Snapshot([_standing(facts) for _, facts in now])
    return found if found.certain else None


MOVED = list(Standing.__dataclass_fields__).index("moved")


def _standing(facts: tuple) -> Standing:
    """Return what `astuple` has taken apart."""
    from helpers.hang.flight import Flight

    found = Standing(*facts)
    return replace(
        found,
        waiting=found.waiting and Operation(*found.waiting),
        latest={channel: Operation(*each) for channel, each in found.latest.items()},
        collectives={
            group: [Operation(*each) for each in kept] for group, kept in found.collectives.items()
        },
        others=[],
        native=found.native and Flight(*found.native),
    )


def say(sentence: str) -> None:
    """Print a sentence on stderr; in one piece, because other ranks print there too."""
    sys.stderr.write(f"[ranks] {sentence}\n")
    sys.stderr.flush()


# --- what gloo says when a message doesn't come or a connection breaks ---------------------------


def is_echo(text: str) -> bool:
    """Return whether torch only says that a partner has gone."""
    return any(echo in text.lower() for echo in ECHOES)


def tell_broken_messages(rank: int) -> None:
    """Tell such errors in a sentence: in `plain_errors`, and below the traceback of any program."""
    TELLERS[:] = [functools.partial(broken_message, rank)]
    if not getattr(sys.excepthook, "tells_gloo", False):
        shown = sys.excepthook

        def show(kind, error, trace) -> None:
            shown(kind, error, trace)
            if missed := next((text for tell in TELLERS if (text := tell(error))), None):
                say(missed)

        show.tells_gloo = True
        sys.excepthook = show


def broken_message(rank: int, error: BaseException) -> str | None:
    """Return which message rank `rank` missed, and at which line; None for any other error."""
    import torch.distributed as dist

    text = str(error)
    gloo = isinstance(error, RuntimeError) and GLOO.match(text)
    late = LATE.search(text)
    if not (gloo or isinstance(error, dist.DistError)) or not (late or is_echo(text)):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    where = locate([(f.filename, f.lineno or 0, f.name) for f in frames]).phrase
    seconds = int(late.group(1)) / 1000 if late else None
    return message_missed(rank, getattr(error, "operation", None), where, seconds)
