"""A whole cluster on the clock: ranks that behave alike are simulated once.

The ranks of a TP group compute the parts of one layer and wait for each other in each: they are as
fast as their slowest. The replicas of data parallelism meet once, when they average gradients. So a
cluster of 16,384 ranks takes as long to simulate as its *different* replicas: one, as a rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from helpers.grid import Grid
from helpers.schedules import Schedule, check
from helpers.simulate.clock import run
from helpers.simulate.costs import Costs
from helpers.simulate.memory import require_room
from helpers.simulate.simulated import Simulated
from helpers.trace import Event, Trace


@dataclass(frozen=True, eq=False)
class Replicas:
    """Replicas that do the same at the same time.

    simulated: one of them, without all-reduce and update. numbers: which of the replicas they are.
    """

    simulated: Simulated
    numbers: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class OnGrid:
    """One step of a cluster. folded: the replicas that differ; costs: of one at full speed."""

    grid: Grid
    schedule: Schedule
    costs: Costs
    folded: tuple[Replicas, ...]

    def __repr__(self) -> str:
        alike = f"{len(self.folded)} of {self.grid.dp} replicas simulated"
        return f"<{self.schedule!r}, {self.grid.size} ranks: {self.step_time:g} s; {alike}>"

    @cached_property
    def step_time(self) -> float:
        """Seconds until the last rank has finished: computing, all-reduce, update."""
        return max(e.end for e in self.trace.events) if self.trace.events else 0.0

    @cached_property
    def bubble(self) -> float:
        """The share of all ranks' time in which they do not compute."""
        whole = self.step_time * self.schedule.size * self.grid.dp
        busy = sum(sum(each.simulated.busy) * len(each.numbers) for each in self.folded)
        busy += sum(
            e.duration * len(self._numbers_of(e.rank))
            for e in self.trace.events
            if e.kind == "update"
        )
        return 1 - busy / whole if whole else 0.0

    @cached_property
    def messages(self) -> int:
        """How many messages the pipelines send in the step, all ranks together."""
        sent = sum(each.simulated.messages * len(each.numbers) for each in self.folded)
        return sent * self.grid.tp

    @cached_property
    def trace(self) -> Trace:
        """One row for each stage of the replicas that differ, under the rank number of the first.

        A rank waits with cause "imbalance" until the slowest replica has its gradients too.
        """
        events, counters = [], []
        ready = [
            max(_last(each.simulated, r) for each in self.folded) for r in range(self.schedule.size)
        ]
        for each in self.folded:
            name = {r: self.grid.rank(dp=each.numbers[0], pp=r) for r in range(self.schedule.size)}
            mine = each.simulated.trace
            events += [
                replace(e, rank=name[e.rank], info=_peers(e.info, name))
                for e in mine.events
                if e.info.get("cause") != "finished"
            ]
            counters += [replace(c, rank=name[c.rank]) for c in mine.counters]
            for r, start in enumerate(ready):
                events += _closing(each.simulated, self.costs, r, name[r], start)
        meta = {"title": f"{self.schedule!r}, {self.grid.size} ranks", "simulated": True}
        return Trace(sorted(events, key=lambda e: (e.start, e.rank)), meta, counters)

    def _numbers_of(self, rank: int) -> tuple[int, ...]:
        number = self.grid.coordinates(rank).dp
        return next(each.numbers for each in self.folded if number in each.numbers)


def simulate_grid(
    grid: Grid,
    schedule: Schedule,
    costs: Costs | None = None,
    speed: Mapping[int, float] | None = None,
) -> OnGrid:
    """One training step of dp x pp x tp ranks.

    schedule: of one replica, for grid.pp ranks. costs: of one replica, a stage being what its TP
    group computes together; `all_reduce` and `update` follow the slowest replica's last action.
    speed: of single ranks, by number; the others have 1. 0.5 takes twice as long.

    Raises ValueError where grid and schedule do not fit, for a rank that there is not, and for a
    speed that is not above 0; and as `simulate`.
    """
    if grid.pp != schedule.size:
        raise ValueError(
            f"the grid has {grid.pp} pipeline stages (pp), and the schedule {schedule!r} is for "
            f"{schedule.size} ranks: choose Grid(pp={schedule.size}), or another schedule"
        )
    full = (costs or Costs()).for_schedule(check(schedule))
    require_room(schedule, full)
    alike: dict[tuple[float, ...], list[int]] = {}
    slow = _slow(grid, speed or {})
    for number in range(grid.dp):
        factors = slow.get(number, {})
        key = tuple(x * factors.get(r, 1.0) for r, x in enumerate(full.speed))
        alike.setdefault(key, []).append(number)
    folded = []
    for speeds, numbers in alike.items():
        mine = replace(full, speed=list(speeds)).for_schedule(schedule)
        mine = replace(mine, all_reduce=[0.0] * schedule.stages, update=[0.0] * schedule.stages)
        folded.append(Replicas(Simulated(schedule, mine, run(schedule, mine)), tuple(numbers)))
    return OnGrid(grid, schedule, full, tuple(folded))


def _slow(grid: Grid, speed: Mapping[int, float]) -> dict[int, dict[int, float]]:
    """{replica: {stage's rank in it: speed of its TP group}}, of those that are not at full speed.

    A TP group is as fast as its slowest: a faster one among them changes nothing.
    """
    found: dict[int, dict[int, float]] = {}
    for rank, value in speed.items():
        place = grid.coordinates(rank)
        group = grid.group(rank, "tp")
        slowest = min(speed.get(other, 1.0) for other in group)
        if not slowest > 0:
            raise ValueError(f"the speed of rank {rank} is {value}: it must be above 0")
        found.setdefault(place.dp, {})[place.pp] = slowest
    return found


def _last(done: Simulated, rank: int) -> float:
    ends = done.times.ends[rank]
    return ends[-1] if ends else 0.0


def _closing(done: Simulated, costs: Costs, r: int, rank: int, ready: float) -> list[Event]:
    """What follows a rank's last action: it waits for the other replicas, averages, updates."""
    events, time = [], _last(done, r)
    if ready > time and any(costs.all_reduce[s] for s in done.schedule.stages_of(r)):
        facts = {"cause": "imbalance"}
        events.append(Event(rank, "wait", time, ready, "communication", "imbalance", facts))
        time = ready
    updates = [x / done.costs.speed[r] for x in costs.update]
    for kind, seconds in (("all-reduce", costs.all_reduce), ("update", updates)):
        for s in done.schedule.stages_of(r):
            if seconds[s]:
                end = time + seconds[s]
                events.append(Event(rank, kind, time, end, info={"stage": s}))
                time = end
    return events


def _peers(info: dict, name: dict[int, int]) -> dict:
    return info | {key: name[info[key]] for key in ("peer", "until") if info.get(key) is not None}
