"""A rank under somebody else's launcher says for whom it waits, and rank 0 names a deadlock.

Where helpers.ranks starts the ranks, it asks all of them and explains a hang. Below srun, torchrun
or mpirun nobody asks: a deadlock or a cut cable is silence until gloo's time-out. So a thread of
each rank looks once a second where it stands. A wait that lasts is told once, on stderr, and while
it lasts the rank leaves a note of where it stands in the store of all ranks. Rank 0 reads those of
all, as one, so that they belong to one moment. If no rank has moved between two readings, of which
each rank has written the second anew, what explains hangs of helpers.ranks gets them.

A note is Python's own notation of plain values, never a pickle (docs/security.md).
"""

import ast
import atexit
import sys
import threading
import time
from dataclasses import astuple
from typing import Any

from helpers.hang import checked
from helpers.hang.cases import whom
from helpers.hang.monitor import Standing, the_monitor
from helpers.hang.places import OURS, locate
from helpers.hang.verdict import Snapshot
from helpers.ranks.store import Place

SAY_AFTER_S = 10.0  # after this long a rank says for whom it waits
LOOK_S = 1.0  # how often the thread looks
END_S = 5.0  # how long a rank that ends waits for the thread, which may be asking the store
_ends: list = []  # what ends each thread that looks


def begin(place: Place, native: bool, store: Any) -> None:
    """Watch this rank from now on; `end` ends it. store: where all ranks leave their notes.

    native: whether waits of torch's own C++, as in DDP's backward pass, are seen too: a thread that
        waits for a GPU would look the same.
    """
    ended = threading.Event()
    facts = (ended, place.rank, place.world_size, native, store)
    thread = threading.Thread(target=_look, args=facts, daemon=True, name=f"{OURS}watch")
    thread.start()
    _ends.append((ended, thread))


@atexit.register  # for a program that doesn't disconnect
def end() -> None:
    """End the thread before Python does, which would end it inside C++: that aborts the process."""
    while _ends:
        ended, thread = _ends.pop()
        ended.set()
        thread.join(END_S)


def _look(ended: threading.Event, rank: int, ranks: int, native: bool, store: Any) -> None:
    """Look until the end, in a thread."""
    count, seen, since, told = 0, None, 0.0, False
    least: dict = {}  # by place: how long a wait there must last to be told again
    earlier: list = []
    while not ended.wait(min(LOOK_S, SAY_AFTER_S / 4)):
        stands, now = the_monitor().standing(), time.monotonic()
        state = (stands.moved, stands.waiting, stands.since)
        if state != seen or not stands.waiting or (stands.waiting.native and not native):
            seen, since, told = state, now, False
            continue
        where, waited = locate([stands.since]), now - since
        if not told and waited >= SAY_AFTER_S and waited >= least.get(where.frame, 0):
            told, least[where.frame] = True, 2 * waited
            operation = stands.waiting
            waits = f"rank {rank} has waited {waited:.0f} s for {whom(operation)}"
            _say(f"{waits}: it {operation.doing}{where.phrase}")
        if any(frame[0] == checked.__file__ for frame in stands.frames):
            continue  # it asks the store itself, which may not answer, and would hold this thread
        if store is None or waited < SAY_AFTER_S / 2:
            continue
        try:
            count += 1
            store.set(str(rank), repr((count, astuple(stands))))
            if rank == 0 and (found := _deadlock(store, ranks, earlier)):
                _say(f"{found.told[0]}\n{found.details}")
                return  # nothing can move any more
        except (RuntimeError, OSError, ValueError, TypeError, SyntaxError):
            store = None  # it has gone, or holds nonsense


def _deadlock(store: Any, ranks: int, earlier: list) -> Snapshot | None:
    """Return the deadlock in which all ranks are, or None.

    earlier: of an earlier reading, for each rank its `moved` and the number of its note; a first
        reading, and one that shows a move, takes its place.
    """
    keys = [str(rank) for rank in range(ranks)]
    if not store.check(keys):
        return None
    notes = [ast.literal_eval(note.decode()) for note in store.multi_get(keys)]
    found = [Standing.of(facts) for _, facts in notes]
    read = [(stands.moved, count) for stands, (count, _) in zip(found, notes, strict=True)]
    if [moved for moved, _ in read] != [moved for moved, _ in earlier]:
        earlier[:] = read
    anew = all(later > count for (_, later), (_, count) in zip(read, earlier, strict=True))
    snapshot = Snapshot(found)
    return snapshot if anew and snapshot.certain else None


def _say(sentence: str) -> None:
    """Print a sentence on stderr; in one piece, because other ranks print there too."""
    sys.stderr.write(f"[ranks] {sentence}\n")
    sys.stderr.flush()
