"""Why a rank computes nothing: a cause for every moment."""

from dataclasses import replace
from typing import NamedTuple

from helpers.schedules import Action, Schedule, needed_stage, source_of
from helpers.simulate.clock import Times, run, seconds_of
from helpers.simulate.costs import Costs
from helpers.simulate.memory import changes

CAUSES = ("dependency", "imbalance", "message", "memory", "all-reduce", "finished")


class Idle(NamedTuple):
    """From `start` to `end` (seconds) a rank computes nothing.

    cause: "dependency": what `action` needs is not computed yet, as with equal stages too;
        "imbalance": the same, but with equal stages on equal ranks it would not last so long;
        "message": it is computed, and on its way;
        "memory": another forward has its input, and there is no room for its activations;
        "all-reduce": gradients are averaged;
        "finished": nothing is left to do, and other ranks still work.
    action: what it waits to compute. until: the rank that it waits for. None where there is none.
    """

    rank: int
    start: float
    end: float
    cause: str
    action: Action | None = None
    until: int | None = None

    def __str__(self) -> str:
        words = f"rank {self.rank}, {self.start:g} s to {self.end:g} s: "
        if self.action is None:
            return words + self.cause
        return words + f"waits to compute {self.action}, for rank {self.until} ({self.cause})"


def idle_times(schedule: Schedule, costs: Costs, times: Times) -> list[Idle]:
    """Every idle moment between the start of the step and each rank's last action."""
    equal = _equal(schedule, costs)
    usual = _waits(schedule, run(schedule, equal)) if equal else None
    found = []
    for rank, actions in enumerate(schedule.ranks):
        full = _full_from(schedule, costs, times, rank)
        before = 0.0
        rows = zip(actions, times.starts[rank], times.ends[rank], strict=True)
        for position, (action, start, end) in enumerate(rows):
            if start > before:
                given = min(max(before, _given(schedule, times, action)), start)
                normal = min(before + usual[rank][position], given) if usual else given
                until = source_of(schedule, action)
                blocked = max(before, full[position]) if full else start
                # What lasts no time is left out: most waits have one cause.
                if min(normal, blocked) > before:
                    found.append(
                        Idle(rank, before, min(normal, blocked), "dependency", action, until)
                    )
                if min(given, blocked) > normal:
                    found.append(
                        Idle(rank, normal, min(given, blocked), "imbalance", action, until)
                    )
                if min(start, blocked) > given:
                    found.append(Idle(rank, given, min(start, blocked), "message", action, until))
                if blocked < start:
                    found.append(Idle(rank, blocked, start, "memory", action, until))
            before = end
    return found


def _given(schedule: Schedule, times: Times, action: Action) -> float:
    """When what the action needs of another stage is computed; 0 if it needs nothing."""
    stage = needed_stage(schedule, action)
    if stage is None:
        return 0.0
    return times.given[action.kind != "F"][stage * schedule.micro_batches + action.micro_batch]


def _waits(schedule: Schedule, times: Times) -> list[list[float]]:
    """Seconds for which each action's rank is idle before its input has been computed."""
    rows = []
    for rank, actions in enumerate(schedule.ranks):
        free = [0.0, *times.ends[rank]]
        row = [
            _given(schedule, times, action) - t for action, t in zip(actions, free, strict=False)
        ]
        rows.append([max(0.0, wait) for wait in row])
    return rows


def _equal(schedule: Schedule, costs: Costs) -> Costs | None:
    """The same work spread evenly over stages and ranks; None if it is so already."""
    seconds = seconds_of(schedule, costs)
    if all(max(row) == min(row) for row in seconds.values()):
        return None
    mean = {kind: [sum(row) / len(row)] * len(row) for kind, row in seconds.items()}
    return replace(
        costs,
        forward=mean["F"],
        input_grad=mean["I"],
        weight_grad=mean["W"],
        speed=[1.0] * schedule.size,
    )


def _full_from(schedule: Schedule, costs: Costs, times: Times, rank: int) -> list[float]:
    """For each position: from when on the rank's next forward has its input and no room.

    Infinite where that does not happen before the action at the position; [] without a limit.
    """
    if costs.memory_limit is None:
        return []
    actions, m = schedule.ranks[rank], schedule.micro_batches
    held, before = 0.0, []
    for change in changes(schedule, costs, rank):
        before.append(held)
        held += change
    rows, later = [float("inf")] * len(actions), None
    for position in reversed(range(len(actions))):
        kind, stage, i = actions[position]
        if kind == "F":
            later = stage, times.arrived[0][(stage - 1) * m + i] if stage else 0.0
        elif later and before[position] + costs.activation_bytes[later[0]] > costs.memory_limit:
            rows[position] = later[1]
    return rows
