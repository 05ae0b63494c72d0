"""A second simulator, kept apart from the first: what that one says must be what this one says.

It is written another way: the rule of what an action needs stands in its loop, once for each kind.
Nothing here imports from the code that it judges, but for the classes that schedules and costs are
made of. `possible` judges a schedule by the definition.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from helpers.schedules import Action, Schedule
from helpers.simulate import Costs


def possible(schedule: Schedule) -> bool:
    """Whether a schedule is complete and can run: do what can be done until nothing moves."""
    places = schedule.rank_of
    wanted = {(s, i) for s in range(len(places)) for i in range(schedule.micro_batches)}
    if not wanted or any(not 0 <= rank < len(schedule.ranks) for rank in places):
        return False
    every = [action for order in schedule.ranks for action in order]
    for rank, order in enumerate(schedule.ranks):
        for _, s, _ in order:
            if not 0 <= s < len(places) or places[s] != rank:
                return False
    of = {kind: [(s, i) for k, s, i in every if k == kind] for kind in "FBIW"}
    if len(every) != len(set(every)) or len(every) != sum(map(len, of.values())):
        return False
    if set(of["F"]) != wanted or set(of["B"]) | set(of["I"]) != wanted:
        return False
    if set(of["B"]) & set(of["I"]) or set(of["W"]) != set(of["I"]):
        return False
    done, at, moved = set(), [0] * len(schedule.ranks), True
    while moved:
        moved = False
        for rank, order in enumerate(schedule.ranks):
            while at[rank] < len(order) and _possible_now(order[at[rank]], done, len(places)):
                done.add(order[at[rank]])
                at[rank] += 1
                moved = True
    return len(done) == len(every)


def _possible_now(action: Action, done: set[Action], stages: int) -> bool:
    kind, s, i = action
    if kind == "F":
        return s == 0 or ("F", s - 1, i) in done
    if kind == "W":
        return ("I", s, i) in done
    back = s == stages - 1 or ("B", s + 1, i) in done or ("I", s + 1, i) in done
    return back and ("F", s, i) in done


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


def needed_stage(schedule: Schedule, action: Action) -> int | None:
    kind, stage, _ = action
    before = stage - 1 if kind == "F" else stage + 1
    return before if kind != "W" and 0 <= before < schedule.stages else None


def source_of(schedule: Schedule, action: Action) -> int | None:
    before = needed_stage(schedule, action)
    return None if before is None else schedule.rank_of[before]
