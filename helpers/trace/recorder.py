"""Record what one rank does while it does it."""

import time
from contextlib import nullcontext
from pathlib import Path

from helpers.trace.events import Counter, Event, Trace


class Recorder:
    """Record the events of one rank.

        recorder = Recorder(rank=0)
        with recorder.span("F", micro_batch=3):
            loss = model(x)
        recorder.save("traces/rank0.json")

    enabled: False makes every span do nothing, at almost no cost.

    The clock is `time.perf_counter`, which all processes of a machine share. A GPU works on after
    the call that started it has returned: `torch.cuda.synchronize()` before a span and at its end
    makes its time the work's, and costs the overlap: use it to look, not to race.
    """

    def __init__(self, rank: int, enabled: bool = True):
        self.rank = rank
        self.enabled = enabled
        self._events: list[tuple] = []  # the fields of Events, which are made later
        self._counters: list[Counter] = []

    def span(self, kind: str, name: str = "", **info):
        """Time the body of a `with` statement, also when it raises (`info["error"]`). `as` binds
        the `info` dictionary, to which you can add what is known only later."""
        return _Span(self, kind, name, info) if self.enabled else nullcontext(info)

    def add(self, kind: str, start: float, end: float, name: str = "", **info) -> None:
        """Record what did not happen inside a `with`: a message that was awaited later."""
        if self.enabled:
            self._events.append((self.rank, kind, start, end, "", name, info))

    def count(self, name: str, value: float) -> None:
        """Record the value that a quantity has from now on: `count("memory", bytes)`."""
        if self.enabled:
            self._counters.append(Counter(self.rank, name, self.now(), value))

    def now(self) -> float:
        """Return the seconds on the recorder's clock."""
        return time.perf_counter()

    def trace(self) -> Trace:
        """Return what was recorded until now, in the order it started."""
        events = [Event(*fields) for fields in sorted(self._events, key=lambda fields: fields[2])]
        return Trace(events, counters=list(self._counters))

    def save(self, path) -> Path:
        """Write the trace; see `Trace.save`."""
        return self.trace().save(path)


class _Span:
    """One `with` statement, kept cheap: slots, and one tuple per span."""

    __slots__ = ("_recorder", "_kind", "_name", "_info", "_start")

    def __init__(self, recorder, kind, name, info):
        self._recorder = recorder
        self._kind = kind
        self._name = name
        self._info = info

    def __enter__(self) -> dict:
        self._start = time.perf_counter()
        return self._info

    def __exit__(self, error_type, error, where) -> None:
        end, recorder = time.perf_counter(), self._recorder
        if error_type is not None:
            self._info["error"] = error_type.__name__
        recorder._events.append(
            (recorder.rank, self._kind, self._start, end, "", self._name, self._info)
        )
