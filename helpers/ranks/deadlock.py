"""Name a deadlock of ranks that nobody watches from outside, on one machine or on several.

In checked mode all ranks share a store. There each rank that waits for long leaves a note of
where it stands, once a second, and rank 0 reads those of all: as one, so that they belong to one
moment. If no rank has moved between two readings, of which each rank has written the second anew,
the engine that explains hangs of helpers.ranks gets them.
"""

from collections import deque

from helpers.hang.diagnosis import Diagnosis, diagnose
from helpers.hang.log import Standing
from helpers.hang.monitor import Monitor
from helpers.hang.notes import Notes, pack, unpack
from helpers.hang.wait_for_graph import GlobalSnapshot

READINGS = 4  # the last is compared with the first: a slow machine may leave no note in between


class Meeting:
    """The notes of all ranks in `store`, as one of them leaves and reads them."""

    def __init__(self, store, monitor: Monitor, ranks: int):
        self._store = store.clone()  # now: once the network is cut torch prints how it fails
        self._notes: Notes | None = None  # of the thread that asks
        self._monitor = monitor
        self._names = [str(rank) for rank in range(ranks)]
        self._count = 0  # of the notes that this rank has left
        self._readings: deque[list | None] = deque(maxlen=READINGS)

    def deadlock(self) -> Diagnosis | None:
        """Leave a note, and return the deadlock in which all ranks are; on rank 0 alone.

        Raises:
            RuntimeError: torch's own, if the store can't be reached.
        """
        self._notes = self._notes or Notes(self._store)
        mine = self._monitor.standing()
        self._count += 1
        self._notes.leave(str(mine.rank), [self._count, packed(mine)])
        if mine.rank:
            return None
        notes = self._notes.look(self._names)
        self._readings.append(notes and [_counted(*note) for note in notes])
        before, now = self._readings[0], self._readings[-1]
        if not before or not now or len(self._readings) < READINGS:
            return None
        for (count, stood), (later, stands) in zip(before, now, strict=True):
            if later <= count or stands.moved != stood.moved:
                return None
        found = diagnose(GlobalSnapshot([standing for _, standing in now]))
        return found if found.certain else None


def packed(standing: Standing) -> list:
    """Return, for JSON, what a diagnosis needs to know of a rank whose main thread waits."""
    return [
        standing.rank,
        pack(standing.waiting),
        standing.since,
        standing.moved,
        standing.threads,
        [*standing.posted.items()],
        [*standing.calls.items()],
        [pack(operation) for operation in standing.latest.values()],
        [[pack(operation) for operation in kept] for kept in standing.collectives.values()],
    ]


def _counted(count: int, facts: list) -> tuple[int, Standing]:
    """Parse a note: its number, and what `packed` has made of a standing."""
    rank, waiting, since, moved, threads, posted, calls, latest, collectives = facts
    called = [[unpack(operation) for operation in kept] for kept in collectives]
    return count, Standing(
        rank,
        unpack(waiting),
        tuple(since),
        posted={tuple(channel): number for channel, number in posted},
        collectives={kept[0].group: kept for kept in called},
        calls={(tuple(place), name): number for (place, name), number in calls},
        latest={operation.channel: operation for operation in map(unpack, latest)},
        moved=moved,
        threads=threads,
    )
