"""A simulated step: its numbers, what it keeps in memory, and its trace."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from helpers.schedules import Schedule, Times, messages
from helpers.simulate.causes import CAUSES, Idle, changes, closing_times, idle_times
from helpers.simulate.costs import Costs, seconds_of
from helpers.simulate.events import action_events, in_order, message_events, wait_events
from helpers.trace import Counter, Event, Trace
from helpers.words import bytes_text


@dataclass(frozen=True, eq=False, repr=False)
class Simulated:
    """One simulated step. costs: with a list in every field that may be one.

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
        """Return the idle share, by one of three definitions.

        over="total": idle time over ranks x step, 0 to 1. GPipe and 1F1B: (p-1)/(m+p-1) for p
            stages and m micro-batches (GPipe, arXiv 1811.06965). What prose and pictures mean.
        over="ideal": idle time over computing time. GPipe and 1F1B: (p-1)/m (Megatron-LM, arXiv
            2104.04473). Infinite where nothing was computed.
        over="span": 1 - computing time / span, on the rank with the longest span, from its first
            action to its last; the optimizer doesn't count (zero bubble, arXiv 2401.10241). One
            step flows into the next, so the ends don't count either.
        """
        if over == "span":
            longest, inside = max(zip(self._spans, self._work, strict=True), key=lambda s: s[0])
            return 1 - inside / longest if longest else 0.0
        room, work = self.schedule.size * self.step_time, sum(self.busy)
        if over == "ideal":
            return (room - work) / work if work else math.inf
        if over != "total":
            raise ValueError(f"bubble(over={over!r}): choose 'total', 'ideal' or 'span'")
        return 1 - work / room if room else 0.0

    @cached_property
    def idle(self) -> list[Idle]:
        """Every idle moment with its cause, rank by rank; they add up to step time - `busy`."""
        last = [self._last(rank) for rank in range(self.schedule.size)]
        found = idle_times(self.schedule, self.costs, self.times)
        found += closing_times(last, self._closing, self.step_time)
        return sorted(found, key=lambda idle: (idle.rank, idle.start))

    def idle_by_cause(self) -> list[dict[str, float]]:
        """Return for each rank its idle seconds by cause."""
        rows = [dict.fromkeys(CAUSES, 0.0) for _ in self.schedule.ranks]
        for idle in self.idle:
            rows[idle.rank][idle.cause] += idle.end - idle.start
        return rows

    @cached_property
    def peak_memory(self) -> list[float]:
        """The most bytes of activations that each rank keeps at one time."""
        ranks = range(self.schedule.size)
        return [
            max(accumulate(changes(self.schedule, self.costs, rank)), default=0.0) for rank in ranks
        ]

    def memory(self, rank: int) -> list[tuple[float, float]]:
        """(seconds, bytes of activations from then on) of one rank."""
        starts, ends = self.times.starts[rank], self.times.ends[rank]
        each = changes(self.schedule, self.costs, rank)
        return [
            (starts[position] if change > 0 else ends[position], held)
            for position, (change, held) in enumerate(zip(each, accumulate(each), strict=True))
            if change
        ]

    @cached_property
    def messages(self) -> int:
        """How many messages are sent in the step."""
        return sum(m.kind == "send" for row in messages(self.schedule) for m in row)

    @cached_property
    def trace(self) -> Trace:
        """The step as events: open it in a timeline, or lay it over a measured one."""
        events = [
            *self._closing,
            *action_events(self.schedule, self.times),
            *message_events(self.schedule, self.costs, self.times),
            *wait_events(self.idle),
        ]
        counters = [
            Counter(rank, "memory", time, held)
            for rank in range(self.schedule.size)
            for time, held in self.memory(rank)
        ]
        meta = {"title": repr(self.schedule), "schedule": self.schedule.name, "simulated": True}
        return Trace(sorted(events, key=in_order), meta, counters)

    def _last(self, rank: int) -> float:
        ends = self.times.ends[rank]
        return ends[-1] if ends else 0.0

    @cached_property
    def _work(self) -> list[float]:
        """Seconds of F, B, I and W of each rank."""
        seconds = seconds_of(self.schedule.rank_of, self.costs)
        share, work = self.costs.pair_share, []
        for actions, first in zip(self.schedule.ranks, self.schedule.pairs, strict=True):
            work.append(sum(seconds[k][s] for k, s, _ in actions))
            if first and share != 1:
                both = [actions[at] for n in first for at in (n, n + 1)]
                work[-1] -= (1 - share) * sum(seconds[k][s] for k, s, _ in both)
        return work

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


class OutOfMemory(ValueError):
    """The error for a schedule that keeps more activations than a rank has room for."""


def require_room(schedule: Schedule, costs: Costs) -> None:
    """Raise `OutOfMemory` at the first action that finds no room.

    Waiting would not help: a rank frees memory only by its own later actions.
    """
    limit = costs.memory_limit
    if limit is None:
        return
    for rank, actions in enumerate(schedule.ranks):
        for position, held in enumerate(accumulate(changes(schedule, costs, rank))):
            if held > limit * (1 + 1e-12):
                raise OutOfMemory(
                    f"rank {rank}, position {position}: {actions[position]} needs "
                    f"{bytes_text(held)} of activations, and the limit is {bytes_text(limit)}: "
                    "choose a schedule that keeps fewer micro-batches, or smaller micro-batches"
                )
