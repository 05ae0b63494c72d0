"""One greedy walk over the clock: whichever rank is free first decides what to compute next."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from helpers.schedules import Action, Schedule
from helpers.simulate import Costs

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


def walk(places: Sequence[int], micro_batches: int, costs: Costs, style: Style) -> Schedule | None:
    """The schedule that a style leads to; None where it leads to a dead end.

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
        self.seconds = _seconds(places, costs)
        self.limit = NEVER if costs.memory_limit is None else costs.memory_limit * (1 + ROUNDING)
        # The later stage of a rank comes first: others wait for it longer.
        self.stages_of = [
            [s for s in reversed(range(self.stages)) if places[s] == r] for r in range(self.size)
        ]
        self.done = {kind: [0] * self.stages for kind in "FIW"}
        first, last = range(1), range(self.stages - 1, self.stages)
        self.arrives = {
            "F": [[0.0 if s in first else NEVER] * m for s in range(self.stages)],
            "I": [[0.0 if s in last else NEVER] * m for s in range(self.stages)],
        }
        self.held, self.ahead = [0.0] * self.size, [0] * self.size
        self.clock = [0.0] * self.size  # since when a rank is asleep
        self.asleep: set[int] = set()
        self.orders: list[list[Action]] = [[] for _ in range(self.size)]

    def choose(self, rank: int, now: float) -> tuple[Action | None, float]:
        """What to compute now; or None, and when the next input is known to come."""
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
            if self.done["W"][s] < self.done["I"][s]:
                behind = Action("W", s, self.done["W"][s])
                break
        if behind and later - now >= self.style.patience[rank] * self.seconds["W"][behind.stage]:
            return behind, now
        return None, later

    def _may(self, kind: str, s: int, i: int, rank: int) -> bool:
        """Whether the micro-batch is there to be computed, and there is room for it."""
        if kind == "I":
            return i < self.done["F"][s]
        room = self.held[rank] + self.costs.activation_bytes[s] <= self.limit
        return i < self.m and room and self.ahead[rank] < self.style.ahead[rank]

    def compute(self, rank: int, now: float, action: Action) -> tuple[float, list[int]]:
        """Do it: when it ends, and which ranks it wakes."""
        kind, s, i = action
        end = now + self.seconds[kind][s]
        self.orders[rank].append(action)
        self.done[kind][s] += 1
        size, kept = self.costs.activation_bytes[s], self.costs.kept_for_weights
        self.held[rank] += size * {"F": 1, "I": kept - 1, "W": -kept}[kind]
        self.ahead[rank] += {"F": 1, "I": -1, "W": 0}[kind]
        after = s + 1 if kind == "F" else s - 1
        if kind == "W" or not 0 <= after < self.stages:
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


def _seconds(places: Sequence[int], costs: Costs) -> dict[str, list[float]]:
    rows = {"F": costs.forward, "I": costs.input_grad, "W": costs.weight_grad}
    return {
        kind: [x / costs.speed[rank] for x, rank in zip(row, places, strict=True)]
        for kind, row in rows.items()
    }
