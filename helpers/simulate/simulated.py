"""The result of a simulation: all numbers of one step, and its trace."""

from dataclasses import dataclass
from functools import cached_property

from helpers.schedules import Schedule, messages
from helpers.simulate.clock import Times, seconds_of
from helpers.simulate.costs import Costs
from helpers.simulate.idle import CAUSES, Idle, idle_times
from helpers.simulate.memory import over_time, peaks
from helpers.simulate.record import to_trace
from helpers.trace import Event, Trace

CONVENTIONS = ("total", "ideal", "span")


@dataclass(frozen=True, eq=False, repr=False)
class Simulated:
    """One step on the clock. costs: with a list in every field that may be one.

    What takes long to work out (`idle`, `trace`) is worked out when it is asked for.
    """

    schedule: Schedule
    costs: Costs
    times: Times

    def __repr__(self) -> str:
        words = f"{self.step_time:g} s, bubble {self.bubble():.1%} of the total"
        return f"<{self.schedule!r}: {words}>"

    @cached_property
    def step_time(self) -> float:
        """Seconds until the last rank has finished: computing, all-reduce, update."""
        ends = [self._last(rank) for rank in range(self.schedule.size)]
        return max([*ends, *(e.end for e in self._closing)])

    @cached_property
    def span(self) -> float:
        """Seconds from a rank's first action to its last, of the rank that takes longest.

        So the zero-bubble paper counts (arXiv 2401.10241): one step flows into the next.
        """
        return max(self._spans)

    @cached_property
    def busy(self) -> list[float]:
        """Seconds in which each rank computes; the update counts."""
        work = list(self._work)
        for event in self._closing:
            if event.kind == "update":
                work[event.rank] += event.duration
        return work

    def bubble(self, over: str = "total") -> float:
        """The idle share, by one of the three definitions that circulate.

        over="total": idle time over ranks x step time; GPipe and 1F1B: (p-1)/(m+p-1).
        over="ideal": idle time over computing time; GPipe and 1F1B: (p-1)/m (Megatron-LM).
        over="span": 1 - m(F+I+W)/span on the rank with the longest span (zero bubble).
        """
        if over not in CONVENTIONS:
            raise ValueError(f"bubble(over={over!r}): choose 'total', 'ideal' or 'span'")
        if over == "span":
            rank = self._spans.index(self.span)
            return 1 - self._work[rank] / self.span if self.span else 0.0
        room, work = self.schedule.size * self.step_time, sum(self.busy)
        if not room:
            return 0.0
        return 1 - work / room if over == "total" else (room - work) / work

    @cached_property
    def idle(self) -> list[Idle]:
        """Every idle moment with its cause, rank by rank; they add up to step time - `busy`."""
        found = idle_times(self.schedule, self.costs, self.times)
        done = [self._last(rank) for rank in range(self.schedule.size)]
        for e in self._closing:
            if e.kind == "all-reduce":
                found.append(Idle(e.rank, e.start, e.end, "all-reduce"))
            done[e.rank] = max(done[e.rank], e.end)
        end = self.step_time
        found += [Idle(rank, t, end, "finished") for rank, t in enumerate(done) if t < end]
        return sorted(found, key=lambda idle: (idle.rank, idle.start))

    def idle_by_cause(self) -> list[dict[str, float]]:
        """For each rank, its idle seconds by cause."""
        rows = [dict.fromkeys(CAUSES, 0.0) for _ in self.schedule.ranks]
        for idle in self.idle:
            rows[idle.rank][idle.cause] += idle.end - idle.start
        return rows

    @cached_property
    def peak_memory(self) -> list[float]:
        """The most bytes of activations that each rank keeps at one time."""
        return peaks(self.schedule, self.costs)

    def memory(self, rank: int) -> list[tuple[float, float]]:
        """(seconds, bytes of activations from then on) of one rank."""
        return over_time(self.schedule, self.costs, self.times, rank)

    @cached_property
    def messages(self) -> int:
        """How many messages are sent in the step."""
        return sum(m.kind == "send" for row in messages(self.schedule) for m in row)

    @cached_property
    def bytes(self) -> float:
        """Bytes in all messages of the step together."""
        sizes = self.costs.message_bytes
        return sum(
            sizes[m.action.stage - (m.action.kind != "F")]
            for row in messages(self.schedule)
            for m in row
            if m.kind == "send"
        )

    @cached_property
    def trace(self) -> Trace:
        """The step as events: open it in a timeline, or lay it over a measured one."""
        return to_trace(self.schedule, self.costs, self.times, self._closing, self.idle)

    def _last(self, rank: int) -> float:
        ends = self.times.ends[rank]
        return ends[-1] if ends else 0.0

    @cached_property
    def _work(self) -> list[float]:
        """Seconds of F, B, I and W of each rank."""
        seconds = seconds_of(self.schedule, self.costs)
        return [sum(seconds[k][s] for k, s, _ in actions) for actions in self.schedule.ranks]

    @cached_property
    def _spans(self) -> list[float]:
        """Seconds from the first action to the last of each rank."""
        rows = zip(self.times.starts, self.times.ends, strict=True)
        return [ends[-1] - starts[0] if ends else 0.0 for starts, ends in rows]

    @cached_property
    def _closing(self) -> list[Event]:
        """What follows the last action of each rank, for each of its stages."""
        events = []
        for rank in range(self.schedule.size):
            time, stages = self._last(rank), self.schedule.stages_of(rank)
            speed = self.costs.speed[rank]
            for kind, seconds in (("all-reduce", self.costs.all_reduce), ("update", None)):
                for s in stages:
                    took = seconds[s] if seconds else self.costs.update[s] / speed
                    if took:
                        events.append(Event(rank, kind, time, time + took, info={"stage": s}))
                        time += took
        return events
