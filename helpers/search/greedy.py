"""One greedy walk through time: whichever rank is free first decides what to compute next."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from helpers.schedules import Action, Schedule, needs, user_of
from helpers.simulate import Costs
from helpers.simulate.costs import seconds_of

NEVER = math.inf
ROUNDING = 1e-9  # times and bytes are sums of floats


@dataclass(frozen=True)
class Style:
    """How each rank decides; both have one number for each rank.

    ahead: the most micro-batches that it keeps between F and I, counted for each of its stages.
    patience: it waits for its next input where that comes within so many times the length of a W;
        where it comes later, it computes a W meanwhile. 0: never wait while there is a W.
    """

    ahead: tuple[int, ...]
    patience: tuple[float, ...]


def greedy_walk(
    places: Sequence[int], micro_batches: int, costs: Costs, style: Style
) -> Schedule | None:
    """Return the schedule that a style leads to, or None where it leads to a dead end.

    places: places[stage] is its rank. costs: with lists, from `Costs.for_schedule`.
    """
    state = _State(tuple(places), micro_batches, costs, style)
    free = [(0.0, rank) for rank in range(state.size)]
    while free:
        now, rank = heapq.heappop(free)
        action, later = state.choose(rank, now)
        if action is not None:
            end, woken = state.compute(rank, now, action)
            heapq.heappush(free, (end, rank))
            for other in woken:
                heapq.heappush(free, (max(end, state.clock[other]), other))
        elif later < NEVER:
            heapq.heappush(free, (later, rank))
        else:
            state.clock[rank] = now
            state.asleep.add(rank)
    if sum(map(len, state.orders)) < 3 * state.stages * micro_batches:
        return None
    return Schedule("searched", state.orders, places, micro_batches)


class _State:
    """All that a walk changes. done: by kind and stage, how many micro-batches."""

    def __init__(self, places: tuple[int, ...], m: int, costs: Costs, style: Style):
        self.places, self.m, self.costs, self.style = places, m, costs, style
        self.stages, self.size = len(places), max(places) + 1
        self.seconds = seconds_of(places, costs)
        self.limit = NEVER if costs.memory_limit is None else costs.memory_limit * (1 + ROUNDING)
        # The later stage of a rank comes first: others wait for it longer.
        self.stages_of = [
            [s for s in reversed(range(self.stages)) if places[s] == r] for r in range(self.size)
        ]
        self.done = {kind: [0] * self.stages for kind in "FIW"}
        # What each action needs of its own stage, and when what it needs of another stage arrives.
        self.own: dict[str, list[str]] = {}
        self.arrives: dict[str, list[list[float]]] = {}
        for kind in "FIW":
            needed = [needs(kind, s, self.stages) for s in range(self.stages)]
            self.own[kind] = [
                "".join(n.kinds for n in row if n.stage == s) for s, row in enumerate(needed)
            ]
            self.arrives[kind] = [
                [NEVER if any(n.stage != s for n in row) else 0.0] * m
                for s, row in enumerate(needed)
            ]
        self.held, self.ahead = [0.0] * self.size, [0] * self.size
        self.clock = [0.0] * self.size  # since when a rank is asleep
        self.asleep: set[int] = set()
        self.orders: list[list[Action]] = [[] for _ in range(self.size)]

    def choose(self, rank: int, now: float) -> tuple[Action | None, float]:
        """Return what to compute now; or None, and when the next input arrives, as far as known."""
        later, behind = NEVER, None
        for kind in "FI":
            for s in self.stages_of[rank]:
                i = self.done[kind][s]
                if not self._may(kind, s, i, rank):
                    continue
                comes = self.arrives[kind][s][i]
                if comes <= now + ROUNDING * now:
                    return Action(kind, s, i), now
                later = min(later, comes)
        for s in self.stages_of[rank]:
            if self._computed("W", s, self.done["W"][s]):
                behind = Action("W", s, self.done["W"][s])
                break
        if behind and later - now >= self.style.patience[rank] * self.seconds["W"][behind.stage]:
            return behind, now
        return None, later

    def _may(self, kind: str, s: int, i: int, rank: int) -> bool:
        """Return whether the action is ready but for what arrives, and there is room for it."""
        if kind == "I":
            return self._computed(kind, s, i)
        room = self.held[rank] + self.costs.activation_bytes[s] <= self.limit
        return i < self.m and room and self.ahead[rank] < self.style.ahead[rank]

    def _computed(self, kind: str, s: int, i: int) -> bool:
        """Return whether the stage itself has computed what the action needs of it."""
        for each in self.own[kind][s]:
            if i >= self.done[each][s]:
                return False
        return True

    def compute(self, rank: int, now: float, action: Action) -> tuple[float, list[int]]:
        """Compute an action; return when it ends, and which ranks it wakes."""
        kind, s, i = action
        end = now + self.seconds[kind][s]
        self.orders[rank].append(action)
        self.done[kind][s] += 1
        size, kept = self.costs.activation_bytes[s], self.costs.kept_for_weights
        self.held[rank] += size * {"F": 1, "I": kept - 1, "W": -kept}[kind]
        self.ahead[rank] += {"F": 1, "I": -1, "W": 0}[kind]
        after = user_of(kind, s, self.stages)
        if after is None:
            return end, []
        other = self.places[after]
        self.arrives[kind][after][i] = end if other == rank else end + self._on_the_way(s, after)
        if other not in self.asleep:
            return end, []
        self.asleep.remove(other)
        return end, [other]

    def _on_the_way(self, s: int, after: int) -> float:
        pair, costs = min(s, after), self.costs
        return costs.latency[pair] + costs.message_bytes[pair] / costs.bandwidth[pair]
