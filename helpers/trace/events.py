"""The facts of a run: what happened when on which rank, measured or computed; in seconds."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

# What takes part in it is in step with all ranks of its group.
COLLECTIVES = frozenset(
    "all-gather all-reduce all-to-all barrier broadcast gather reduce reduce-scatter "
    "scatter".split()
)
MESSAGES = frozenset({"send", "recv"})
LONGEST_S = 1e15  # either side of the trace's zero: written down in whole nanoseconds
LANES = ("compute", "communication", "input")


def lane_of(kind: str) -> str:
    if kind in COLLECTIVES or kind in MESSAGES or kind == "wait":
        return "communication"
    return "input" if kind == "input" else "compute"


@dataclass(slots=True)
class Event:
    """Something that took time on one rank."""

    rank: int
    # "F" forward, "B" backward, "I" and "W" its two halves (gradients of the input and of the
    # weights), "update" (the optimizer), "input" (reading data), "send", "recv", a collective by
    # its name ("all-reduce" ...), "wait"; any other word is a kind of its own.
    kind: str
    start: float  # on one clock for all ranks of a machine
    end: float
    # "compute", "communication" or "input": what may go on at the same time; by default by its kind
    lane: str = ""
    name: str = ""
    # More facts, of the kinds that JSON has. With a meaning here: stage, micro_batch (int); peer of
    # a message, its tag (int); group of a collective (list of int; absent: all ranks), its root
    # (int); bytes that were moved, tokens that were trained on (int); error that ended it (str).
    info: dict = field(default_factory=dict)

    def __post_init__(self):
        if not self.lane:
            self.lane = lane_of(self.kind)

    @property
    def duration(self) -> float:
        return self.end - self.start


@dataclass(slots=True)
class Counter:
    """From `time` on, the quantity `name` of a rank has this value; "memory" is in bytes."""

    rank: int
    name: str
    time: float
    value: float


@dataclass(slots=True)
class Trace:
    """All events of a run, in any order."""

    events: list[Event] = field(default_factory=list)
    meta: dict = field(default_factory=dict)  # facts of the whole run, of the kinds that JSON has
    counters: list[Counter] = field(default_factory=list)  # each in the order of time

    def __post_init__(self):
        for e in self.events:
            # A time that is not a number makes every comparison false.
            if not -LONGEST_S <= e.start <= e.end <= LONGEST_S:
                words = f"event {e.kind!r} on rank {e.rank} starts at {e.start} s and ends at"
                cure = f"both must be numbers of at most {LONGEST_S:g}, and the end must not"
                raise ValueError(f"{words} {e.end} s: {cure} come first")

    @property
    def ranks(self) -> list[int]:
        return sorted({e.rank for e in self.events} | {c.rank for c in self.counters})

    @property
    def start(self) -> float:
        return min((e.start for e in self.events), default=0.0)

    @property
    def end(self) -> float:
        return max((e.end for e in self.events), default=0.0)

    @property
    def duration(self) -> float:
        """Seconds from the first start to the last end, over all ranks."""
        return self.end - self.start

    def events_of(self, rank: int, lane: str | None = None) -> list[Event]:
        """Return the events of one rank (and one lane), in the order they start."""
        mine = [e for e in self.events if e.rank == rank and (lane is None or e.lane == lane)]
        return sorted(mine, key=lambda e: e.start)

    def by_rank(self) -> dict[int, list[Event]]:
        """Return each rank's events in the order they start: one walk over all events."""
        rows: dict[int, list[Event]] = {rank: [] for rank in self.ranks}
        for event in sorted(self.events, key=lambda e: e.start):
            rows[event.rank].append(event)
        return rows

    def between(self, start: float, end: float) -> "Trace":
        """What lies between two times (seconds, on the trace's clock); events are cut to fit."""
        kept = [
            replace(e, start=max(e.start, start), end=min(e.end, end))
            for e in self.events
            if e.start < end and e.end > start
        ]
        return Trace(kept, dict(self.meta), [c for c in self.counters if start <= c.time <= end])

    def from_zero(self) -> "Trace":
        """The same trace with its first event at 0 s: how traces of two runs are compared."""
        zero = self.start
        events = [  # spelled out: `replace` takes three times as long
            Event(e.rank, e.kind, e.start - zero, e.end - zero, e.lane, e.name, e.info)
            for e in self.events
        ]
        counters = [replace(c, time=c.time - zero) for c in self.counters]
        return Trace(events, dict(self.meta), counters)

    def merged(self, *others: "Trace") -> "Trace":
        """Merge traces of one machine, in the order of time; of their `meta` the first counts."""
        traces = (self, *others)
        events = sorted((e for t in traces for e in t.events), key=lambda e: e.start)
        counters = sorted((c for t in traces for c in t.counters), key=lambda c: c.time)
        meta = {key: value for trace in reversed(traces) for key, value in trace.meta.items()}
        return Trace(events, meta, counters)

    def save(self, path: str | os.PathLike) -> Path:
        """Write Chrome trace JSON, which Perfetto opens too; a name in .gz is compressed."""
        from helpers.trace.chrome import save

        return save(self, path)

    @staticmethod
    def load(path: str | os.PathLike) -> "Trace":
        """Read Chrome trace JSON, ours or another program's. ValueError if it is no trace."""
        from helpers.trace.chrome import load

        return load(path)

    @staticmethod
    def load_all(paths: str | os.PathLike | Iterable[str | os.PathLike]) -> "Trace":
        """Read a folder of per-rank files, or the files named, into one trace. ValueError where a
        folder holds no trace, or a rank is in two files."""
        from helpers.trace.chrome import load_all

        return load_all(paths)
