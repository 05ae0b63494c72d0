"""What a schedule and its times are by definition, written for reading and not for speed.

Nothing here imports from the code that it judges, except for the classes that schedules and costs
are made of.
"""

import random
from collections.abc import Iterator

from helpers.schedules import Action, Schedule
from helpers.simulate import Costs


def needed(action: Action, stages: int) -> list[Action]:
    """Return what an action waits for; of several, one is enough (a B, or the I in its place)."""
    kind, s, i = action
    if kind == "F":
        return [Action("F", s - 1, i)] if s else []
    if kind == "W":
        return [Action("I", s, i)]
    return [Action(k, s + 1, i) for k in "BI"] if s < stages - 1 else [Action("F", s, i)]


def possible_now(action: Action, done: set[Action], stages: int) -> bool:
    """Return whether everything that an action needs has been done."""
    kind, s, i = action
    if kind in "BI" and Action("F", s, i) not in done:
        return False
    return not (wanted := needed(action, stages)) or any(each in done for each in wanted)


def drawn(draw: random.Random, places: list[int], m: int) -> Schedule:
    """Return a random schedule that can run. places: the rank of each stage; m: micro-batches."""
    stages, done, ranks = len(places), set(), [[] for _ in range(max(places) + 1)]
    share = draw.random()  # of the backward passes that are split
    split = {(s, i): draw.random() < share for s in range(stages) for i in range(m)}
    left = [Action(k, s, i) for (s, i), two in split.items() for k in ("FIW" if two else "FB")]
    weight = {k: draw.choice((0.1, 1, 5)) for k in "FBIW"}
    while left:
        able = [a for a in left if possible_now(a, done, stages)]
        action = draw.choices(able, [weight[a.kind] for a in able])[0]
        left.remove(action)
        done.add(action)
        ranks[places[action.stage]].append(action)
    return Schedule("drawn", ranks, places, m)


def possible(schedule: Schedule) -> bool:
    """Return whether a schedule is complete and can run: do what is possible until nothing is."""
    places = schedule.rank_of
    kinds = {(s, i): [] for s in range(len(places)) for i in range(schedule.micro_batches)}
    for rank, order in enumerate(schedule.ranks):
        for kind, s, i in order:
            if (s, i) not in kinds or places[s] != rank:
                return False
            kinds[s, i].append(kind)
    if not kinds or any(
        sorted(each) not in (["B", "F"], ["F", "I", "W"]) for each in kinds.values()
    ):
        return False
    return sum(len(turn) for _, turn in run(schedule)) == sum(map(len, schedule.ranks))


def run(schedule: Schedule) -> Iterator[tuple[int, list[Action]]]:
    """Yield what a rank computes as one, with the rank, as soon as it is possible."""
    done, moved = set(), True
    left = [[turn for _, turn in schedule.turns(rank)] for rank in range(schedule.size)]
    while moved:
        moved = False
        for rank, order in enumerate(left):
            while order and all(possible_now(a, done, schedule.stages) for a in order[0]):
                done |= set(order[0])
                moved = True
                yield rank, order.pop(0)


def starts(schedule: Schedule, costs: Costs) -> list[list[float]]:
    """Return the start of each rank's actions. costs: from `Costs.for_schedule`.

    An action starts when the one before it on its rank has ended and what it needs has arrived. The
    messages of a link, from one rank to another, leave in the order of their actions, each when the
    one before it has left, and arrive after the latency. A pair starts when both its actions can,
    and its results leave when both are done.
    """
    places, stages, clocks = schedule.rank_of, schedule.stages, [0.0] * schedule.size
    begun, given, arrived, free = {}, {}, {}, {}
    for rank, turn in run(schedule):
        end = clocks[rank]
        for each in (each for action in turn for each in needed(action, stages)):
            end = max(end, (given if places[each.stage] == rank else arrived).get(each, 0.0))
        for action in turn:
            begun[action] = end
            end += took(action, costs, rank) * (costs.pair_share if len(turn) == 2 else 1)
        clocks[rank] = end
        for action in turn:
            given[action], to = end, action.stage + (1 if action.kind == "F" else -1)
            if action.kind == "W" or not 0 <= to < stages or places[to] == rank:
                continue
            pair, link = min(action.stage, to), (rank, places[to])
            free[link] = max(end, free.get(link, 0.0))
            free[link] += costs.message_bytes[pair] / costs.bandwidth[pair]
            arrived[action] = free[link] + costs.latency[pair]
    return [[begun[action] for action in order] for order in schedule.ranks]


def took(action: Action, costs: Costs, rank: int) -> float:
    """Return the seconds of an action on its rank."""
    kinds = {"F": costs.forward, "I": costs.input_grad, "W": costs.weight_grad}
    work = sum(kinds[kind][action.stage] for kind in ("IW" if action.kind == "B" else action.kind))
    return work / costs.speed[rank]


def peaks(schedule: Schedule, costs: Costs) -> list[float]:
    """Return the most bytes that each rank keeps: all of them from F on, a share from I to W."""
    found = []
    for order in schedule.ranks:
        most, kept = 0.0, {}
        for kind, s, i in order:
            whole = costs.activation_bytes[s]
            kept[s, i] = {"F": whole, "I": whole * costs.kept_for_weights}.get(kind, 0.0)
            most = max(most, sum(kept.values()))
        found.append(most)
    return found
