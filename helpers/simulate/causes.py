"""Why a rank computes nothing: a cause for every moment of a simulated step."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from helpers.schedules import Action, Schedule, Times, needed_stage, source_of
from helpers.simulate.costs import Costs, run, seconds_of
from helpers.trace import COLLECTIVES, Event

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


def idle_times(schedule: Schedule, costs: Costs, times: Times) -> list[Idle]:
    """Return every wait between the start of the step and each rank's last action."""
    equal = _equal(schedule, costs)
    usual = _waits(schedule, run(schedule, equal)) if equal else None
    found = []
    for rank in range(schedule.size):
        full = _full_from(schedule, costs, times, rank)
        before = 0.0
        for position, turn in schedule.turns(rank):
            action = max(turn, key=partial(_come, schedule, times.arrived))
            start, end = times.starts[rank][position], times.ends[rank][position + len(turn) - 1]
            until = source_of(schedule, action) if start > before else None
            if until is not None:
                given = min(max(before, _come(schedule, times.given, action)), start)
                normal = min(before + usual[rank][position], given) if usual else given
                blocked = max(before, full[position]) if full else start
                for cause, begin, edge in (
                    ("dependency", before, normal),
                    ("imbalance", normal, given),
                    ("message", given, start),
                ):
                    stop = min(edge, blocked)
                    if stop > begin:  # most waits have one cause
                        found.append(Idle(rank, begin, stop, cause, action, until))
                if blocked < start:
                    found.append(Idle(rank, blocked, start, "memory", action, until))
            before = end
    return found


def closing_times(last: Sequence[float], closing: Iterable[Event], end: float) -> list[Idle]:
    """Return the idle moments after each rank's last action.

    last: when that ended. closing: the events that follow it: all-reduce, update. end: of the step.
    """
    found, done = [], list(last)
    for event in closing:
        if event.kind in COLLECTIVES:
            found.append(Idle(event.rank, event.start, event.end, "all-reduce"))
        done[event.rank] = max(done[event.rank], event.end)
    return found + [Idle(rank, t, end, "finished") for rank, t in enumerate(done) if t < end]


def changes(schedule: Schedule, costs: Costs, rank: int) -> list[float]:
    """Bytes that each of a rank's actions takes (F, as it starts) or frees (the others, at end)."""
    kept = costs.kept_for_weights
    share = {"F": 1.0, "B": -1.0, "I": kept - 1.0, "W": -kept}
    size = costs.activation_bytes
    return [share[kind] * size[stage] for kind, stage, _ in schedule.ranks[rank]]


def _come(schedule: Schedule, results: tuple[list[float], list[float]], action: Action) -> float:
    """Return the time of what the action needs of another stage; 0 if it needs nothing.

    results: `Times.given`: when it is computed; `Times.arrived`: when it is there.
    """
    stage = needed_stage(schedule, action)
    if stage is None:
        return 0.0
    return results[action.kind != "F"][stage * schedule.micro_batches + action.micro_batch]


def _waits(schedule: Schedule, times: Times) -> list[list[float]]:
    """Return the seconds that each action's rank is idle until its input has been computed."""
    rows = []
    for rank, actions in enumerate(schedule.ranks):
        free, row = [0.0, *times.ends[rank]], [0.0] * len(actions)
        for position, turn in schedule.turns(rank):
            given = max(_come(schedule, times.given, action) for action in turn)
            row[position] = max(0.0, given - free[position])
        rows.append(row)
    return rows


def _equal(schedule: Schedule, costs: Costs) -> Costs | None:
    """Return costs with the same work spread evenly over stages and ranks; None if it is so."""
    seconds = seconds_of(schedule.rank_of, costs)
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
    """Return for each position: from when on the rank's next forward has its input and no room.

    Infinite where that does not happen before the action at the position; [] without a limit.
    """
    if costs.memory_limit is None:
        return []
    actions, m = schedule.ranks[rank], schedule.micro_batches
    before = list(accumulate(changes(schedule, costs, rank), initial=0.0))
    rows, later = [float("inf")] * len(actions), None
    for position in reversed(range(len(actions))):
        kind, stage, i = actions[position]
        if kind == "F":
            later = stage, times.arrived[0][(stage - 1) * m + i] if stage else 0.0
        elif later and before[position] + costs.activation_bytes[later[0]] > costs.memory_limit:
            rows[position] = later[1]
    return rows
