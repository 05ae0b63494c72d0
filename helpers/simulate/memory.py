"""Bytes of activations over time, and whether they fit."""

from helpers.draw.text import bytes_text
from helpers.schedules import Schedule
from helpers.simulate.clock import Times
from helpers.simulate.costs import Costs


class OutOfMemory(ValueError):
    """A schedule keeps more activations than a rank has room for. Its text is one sentence."""


def changes(schedule: Schedule, costs: Costs, rank: int) -> list[float]:
    """Bytes that each of a rank's actions takes (F, as it starts) or frees (the others, at end)."""
    kept = costs.kept_for_weights
    share = {"F": 1.0, "B": -1.0, "I": kept - 1.0, "W": -kept}
    size = costs.activation_bytes
    return [share[kind] * size[stage] for kind, stage, _ in schedule.ranks[rank]]


def peaks(schedule: Schedule, costs: Costs) -> list[float]:
    """The most bytes that each rank keeps at one time. A rank computes one action at a time, so
    they follow from the order alone."""
    highest = []
    for rank in range(schedule.size):
        held = most = 0.0
        for change in changes(schedule, costs, rank):
            held += change
            most = max(most, held)
        highest.append(most)
    return highest


def over_time(
    schedule: Schedule, costs: Costs, times: Times, rank: int
) -> list[tuple[float, float]]:
    """(seconds, bytes kept from then on) of one rank."""
    held, steps = 0.0, []
    starts, ends = times.starts[rank], times.ends[rank]
    for position, change in enumerate(changes(schedule, costs, rank)):
        if change:
            held += change
            steps.append((starts[position] if change > 0 else ends[position], held))
    return steps


def require_room(schedule: Schedule, costs: Costs) -> None:
    """Raise `OutOfMemory` at the first action that finds no room.

    Waiting would not help: a rank frees memory only by its own later actions.
    """
    limit = costs.memory_limit
    if limit is None:
        return
    for rank, actions in enumerate(schedule.ranks):
        held = 0.0
        for position, change in enumerate(changes(schedule, costs, rank)):
            held += change
            if held > limit * (1 + 1e-12):
                raise OutOfMemory(
                    f"rank {rank}, position {position}: {actions[position]} needs "
                    f"{bytes_text(held)} of activations, and the limit is {bytes_text(limit)}: "
                    "choose a schedule that keeps fewer micro-batches, or smaller micro-batches"
                )
