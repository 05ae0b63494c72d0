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
import re
import sys
import threading
import time
import traceback
from collections import deque
from typing import Any

from helpers.hang import checked
from helpers.hang.cases import message_missed, waits_long
from helpers.hang.flight import Flight
from helpers.hang.monitor import Standing, the_monitor
from helpers.hang.operation import Operation
from helpers.hang.places import OURS, locate
from helpers.plain_errors import TELLERS

SAY_AFTER_S = 10.0  # after this long a rank says for whom it waits
LOOK_S = 1.0  # how often the thread looks
END_S = 5.0  # how long a rank that ends waits for the thread, which may be asking the store
READINGS = 4  # the last is compared with the first: a slow machine may leave no note in between
GLOO = re.compile(r"\[\S+\.cc:\d+\] ")  # its file and line, with which each of its errors begins
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

    def begin(self, rank: int, ranks: int, native: bool, store: Any) -> None:
        """Watch from now on; `end` ends it.

        Args:
            native: whether waits of torch's own C++, as in DDP's backward pass, are seen too: a
                thread that waits for a GPU would look the same.
            store: where all ranks leave their notes.
        """
        tell_broken_messages(rank)
        self._end = threading.Event()
        facts = (self._end, rank, ranks, native, store)
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


def _look(end: threading.Event, rank: int, ranks: int, native: bool, store: Any) -> None:
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
            say(waits_long(rank, waited, stands.waiting, where.phrase))
        if any(frame[0] == checked.__file__ for frame in stands.frames):
            continue  # it asks the store itself, which may not answer, and would hold this thread
        if store is None or waited < SAY_AFTER_S / 2:
            continue
        try:
            count += 1
            store.set(str(rank), repr((count, stands)))
            if rank == 0 and (found := _deadlock(store, ranks, readings)):
                say(f"{found.told[0]}\n{found.details}")
                store, told = None, True
        except (RuntimeError, OSError, ValueError, LookupError):  # it has gone, or holds nonsense
            store = None


def _deadlock(store: Any, ranks: int, readings: deque) -> Any:
    """Return the diagnosis of the deadlock in which all ranks are, or None."""
    from helpers.hang.verdict import Snapshot

    keys = [str(rank) for rank in range(ranks)]
    notes = store.multi_get(keys) if store.check(keys) else None
    readings.append(notes and [_read(ast.parse(note.decode(), mode="eval").body) for note in notes])
    before, now = readings[0], readings[-1]
    if not before or not now or len(readings) < READINGS:
        return None
    for (count, stood), (later, stands) in zip(before, now, strict=True):
        if later <= count or stands.moved != stood.moved:
            return None
    found = Snapshot([stands for _, stands in now])
    return found if found.certain else None


FACTS = {kind.__name__: kind for kind in (Standing, Operation, Flight)}


def _read(node: ast.expr) -> Any:
    """Return what `repr` has written: plain values, and the facts of FACTS."""
    match node:
        case ast.Call(func=ast.Name(id=name), keywords=fields):
            return FACTS[name](**{field.arg: _read(field.value) for field in fields})
        case ast.Tuple(elts=items):
            return tuple(map(_read, items))
        case ast.List(elts=items):
            return [*map(_read, items)]
        case ast.Dict(keys=keys, values=values):
            return dict(zip(map(_read, keys), map(_read, values), strict=True))
    return ast.literal_eval(node)


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
    shown = sys.excepthook
    if getattr(shown, "tells_gloo", False):
        return

    def show(kind, error, trace) -> None:
        shown(kind, error, trace)
        if missed := next((text for tell in TELLERS if (text := tell(error))), None):
            say(missed)

    show.tells_gloo = True
    sys.excepthook = show


def broken_message(rank: int, error: BaseException) -> str | None:
    """Return which message rank `rank` missed, and at which line; None for any other error."""
    from torch.distributed import DistError

    text = str(error)
    gloo = isinstance(error, RuntimeError) and GLOO.match(text)
    late = LATE.search(text)
    if not (gloo or isinstance(error, DistError)) or not (late or is_echo(text)):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    where = locate([(f.filename, f.lineno or 0, f.name) for f in frames]).phrase
    seconds = int(late.group(1)) / 1000 if late else None
    return message_missed(rank, getattr(error, "operation", None), where, seconds)
