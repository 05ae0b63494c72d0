"""The clock: one walk over all actions in the order in which they can be computed.

No queue of events is needed. When an action begins follows from two times: the end of the action
before it on its rank, and the arrival of what it needs. So each rank goes on until something has
no arrival yet, sleeps, and is woken by the rank that computes it.
"""

from dataclasses import dataclass

from helpers.schedules import Schedule
from helpers.simulate.costs import Costs

Pair = tuple[float, float]


@dataclass
class Times:
    """When everything happens, in seconds from the start of the step.

    starts, ends: of each rank's actions, in its order.
    given: for F, and for B or I: when the result of (stage, micro-batch) is computed, at index
        stage * micro_batches + micro_batch.
    arrived: the same, when it is on the rank that needs it.
    """

    starts: list[list[float]]
    ends: list[list[float]]
    given: tuple[list[float], list[float]]
    arrived: tuple[list[float], list[float]]


def run(schedule: Schedule, costs: Costs) -> Times:
    """The times of a schedule that `check` has passed.

    costs: with lists, from `Costs.for_schedule`. O(actions).
    """
    m, last = schedule.micro_batches, schedule.stages - 1
    seconds = seconds_of(schedule, costs)
    down, up = _links(schedule, costs, forward=True), _links(schedule, costs, forward=False)
    size = schedule.stages * m
    given_f, given_b = [0.0] * size, [0.0] * size
    here_f, here_b = [-1.0] * size, [-1.0] * size  # arrivals; below 0: not yet
    free: dict[tuple[int, int], float] = {}  # from when on a link has room for the next message
    starts: list[list[float]] = [[] for _ in schedule.ranks]
    ends: list[list[float]] = [[] for _ in schedule.ranks]
    at = [0] * schedule.size
    asleep: dict[int, int] = {}  # what is waited for: the rank; a gradient has its index below 0
    awake = list(range(schedule.size))
    while awake:
        rank = awake.pop()
        begin, end = starts[rank], ends[rank]
        clock = end[-1] if end else 0.0
        actions = schedule.ranks[rank]
        for position in range(at[rank], len(actions)):
            kind, s, i = actions[position]
            key = s * m + i
            link = None
            if kind == "F":
                if s:
                    ready = here_f[key - m]
                    if ready < 0:
                        asleep[key - m] = rank
                        break
                    if ready > clock:
                        clock = ready
                begin.append(clock)
                clock += seconds[kind][s]
                given_f[key] = here_f[key] = clock
                if s < last:
                    link, here, woken = down[s], here_f, key
            elif kind == "W":
                begin.append(clock)
                clock += seconds[kind][s]
            else:
                if s < last:
                    ready = here_b[key + m]
                    if ready < 0:
                        asleep[~(key + m)] = rank
                        break
                    if ready > clock:
                        clock = ready
                begin.append(clock)
                clock += seconds[kind][s]
                given_b[key] = here_b[key] = clock
                if s:
                    link, here, woken = up[s], here_b, ~key
            end.append(clock)
            if link is not None:
                ends_of_link, latency, transfer = link
                if transfer:
                    left = max(clock, free.get(ends_of_link, 0.0)) + transfer
                    free[ends_of_link] = left
                    here[key] = left + latency
                else:
                    here[key] = clock + latency
                if woken in asleep:
                    awake.append(asleep.pop(woken))
        else:
            position = len(actions)
        at[rank] = position
    return Times(starts, ends, (given_f, given_b), (here_f, here_b))


def seconds_of(schedule: Schedule, costs: Costs) -> dict[str, list[float]]:
    """Seconds of each kind on each stage, with the speed of its rank."""
    speed = [costs.speed[rank] for rank in schedule.rank_of]
    kinds = {"F": costs.forward, "I": costs.input_grad, "W": costs.weight_grad}
    kinds["B"] = [i + w for i, w in zip(costs.input_grad, costs.weight_grad, strict=True)]
    return {k: [x / v for x, v in zip(row, speed, strict=True)] for k, row in kinds.items()}


def _links(schedule: Schedule, costs: Costs, forward: bool) -> list:
    """For each stage that sends: the link (from rank, to rank), its latency, the transfer time.

    None where both stages are on one rank, and for the stage that sends to nobody.
    """
    links: list[tuple[tuple[int, int], float, float] | None] = [None] * schedule.stages
    for low in range(schedule.stages - 1):
        source, target = (low, low + 1) if forward else (low + 1, low)
        pair = schedule.rank_of[source], schedule.rank_of[target]
        if pair[0] != pair[1]:
            transfer = costs.message_bytes[low] / costs.bandwidth[low]
            links[source] = pair, costs.latency[low], transfer
    return links
