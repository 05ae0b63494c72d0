"""One greedy walk through time: whichever rank is free first decides what to compute next."""

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from helpers.schedules import Action, Schedule, user_of
from helpers.simulate import Costs
from helpers.simulate.costs import seconds_of

NEVER = math.inf
ROUNDING = 1e-9  # times and bytes are sums of floats


@dataclass(frozen=True)
class Style:
    """How each rank decides; `ahead` and `patience` have one number for each rank.

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

    Args:
        places: places[stage] is its rank.
        costs: with lists, from `Costs.for_schedule`.
    """
    state = _State(tuple(places), micro_batches, costs, style)
    free = [(0.0, rank) for rank in range(state.size)]  # a heap: who is free first comes first
    while free:
        now, rank = heapq.heappop(free)
        if now < state.busy_until[rank]:
            continue  # it has found something to do since
        action, later = state.choose(rank, now)
        if action is not None:
            end = now + state.seconds[action.kind][action.stage]
            heapq.heappush(free, (end, rank))
            if coming := state.compute(rank, end, action):
                other, comes = coming
                heapq.heappush(free, (max(comes, state.busy_until[other]), other))
        elif later < NEVER:
            heapq.heappush(free, (later, rank))
    if sum(map(len, state.orders)) < 3 * state.stages * micro_batches:  # F, I and W
        return None
    return Schedule("searched", state.orders, places, micro_batches)


class _State:
    """All that a walk changes.

    coming: by kind and stage, the micro-batches whose input has been computed, and when it arrives.
    """

    def __init__(self, places: tuple[int, ...], m: int, costs: Costs, style: Style):
        self.places, self.costs, self.style = places, costs, style
        self.stages, self.size = len(places), max(places) + 1
        self.seconds = seconds_of(places, costs)
        self.limit = NEVER if costs.memory_limit is None else costs.memory_limit * (1 + ROUNDING)
        # The later stage of a rank comes first: others wait for it longer.
        self.stages_of = [
            [s for s in reversed(range(self.stages)) if places[s] == r] for r in range(self.size)
        ]
        self.coming = {kind: [deque() for _ in places] for kind in "FIW"}
        self.coming["F"][0].extend((i, 0.0) for i in range(m))
        self.held, self.ahead = [0.0] * self.size, [0] * self.size
        self.busy_until = [0.0] * self.size
        self.orders: list[list[Action]] = [[] for _ in range(self.size)]

    def choose(self, rank: int, now: float) -> tuple[Action | None, float]:
        """Return what to compute now; or None, and when the next input arrives, as far as known."""
        later = NEVER
        for kind in "FI":
            for s in self.stages_of[rank]:
                if not self.coming[kind][s]:
                    continue
                i, comes = self.coming[kind][s][0]
                if kind == "F" and not self._may_begin(rank, s):
                    continue
                if comes <= now + ROUNDING * now:
                    return Action(kind, s, i), now
                later = min(later, comes)
        for s in self.stages_of[rank]:
            if self.coming["W"][s]:
                if later - now < self.style.patience[rank] * self.seconds["W"][s]:
                    break
                return Action("W", s, self.coming["W"][s][0][0]), now
        return None, later

    def _may_begin(self, rank: int, s: int) -> bool:
        """Return whether there is room for a micro-batch, and the style runs that far ahead."""
        room = self.held[rank] + self.costs.activation_bytes[s] <= self.limit
        return room and self.ahead[rank] < self.style.ahead[rank]

    def compute(self, rank: int, end: float, action: Action) -> tuple[int, float] | None:
        """Compute an action; return which other rank gets its result, and when."""
        kind, s, i = action
        self.orders[rank].append(action)
        self.busy_until[rank] = end
        self.coming[kind][s].popleft()
        size, kept = self.costs.activation_bytes[s], self.costs.kept_for_weights
        self.held[rank] += size * {"F": 1, "I": kept - 1, "W": -kept}[kind]
        self.ahead[rank] += {"F": 1, "I": -1, "W": 0}[kind]
        if kind == "I":
            self.coming["W"][s].append((i, end))
        if kind == "F" and s == self.stages - 1:
            self.coming["I"][s].append((i, end))
        after = user_of(kind, s, self.stages)
        if after is None:
            return None
        other = self.places[after]
        comes = end if other == rank else end + self._on_the_way(s, after)
        self.coming[kind][after].append((i, comes))
        return None if other == rank else (other, comes)

    def _on_the_way(self, s: int, after: int) -> float:
        pair, costs = min(s, after), self.costs
        return costs.latency[pair] + costs.message_bytes[pair] / costs.bandwidth[pair]
