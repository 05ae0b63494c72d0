"""Record what one rank does while it does it."""

import time
from contextlib import contextmanager, nullcontext

from helpers.trace.events import Counter, Event, Trace


class Recorder:
    """Record the events of one rank.

        recorder = Recorder(rank=0)
        with recorder.span("F", micro_batch=3):
            loss = model(x)
        recorder.trace().save("traces/rank0.json")

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
        return self._timed(kind, name, info) if self.enabled else nullcontext(info)

    def add(self, kind: str, start: float, end: float, name: str = "", **info) -> None:
        """Record what did not happen inside a `with`: a message that was awaited later."""
        if self.enabled:
            self._events.append((self.rank, kind, start, end, "", name, info))

    def count(self, name: str, value: float) -> None:
        """Record the value that a quantity has from now on: `count("memory", bytes)`."""
        if self.enabled:
            self._counters.append(Counter(self.rank, name, self.now(), value))

    def now(self) -> float:
        return time.perf_counter()

    def trace(self) -> Trace:
        events = [Event(*fields) for fields in sorted(self._events, key=lambda fields: fields[2])]
        return Trace(events, counters=list(self._counters))

    @contextmanager
    def _timed(self, kind: str, name: str, info: dict):
        start = time.perf_counter()
        try:
            yield info
        except BaseException as error:
            info["error"] = type(error).__name__
            raise
        finally:
            self._events.append((self.rank, kind, start, time.perf_counter(), "", name, info))
