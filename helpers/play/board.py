"""A plan that grows action by action: which moves are legal, and why the others aren't.

A plan is an order for each rank. Its times follow: an action starts as soon as its rank is free and
what it needs has arrived. So a legal move is one that keeps the plan runnable, and the rule is that
of `helpers.schedules`, with two rules that a level may add: memory ends somewhere, and a step may
not begin on a rank before the step before it has ended there.
"""

from collections.abc import Container
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from helpers.schedules import Action, Schedule, find_problem, missing, needed_stage
from helpers.simulate import Costs, Simulated, simulate

ROUNDING = 1e-9
KEPT = {"F": 1, "B": -1, "I": 0, "W": -1}  # micro-batches: as I frees little, W counts


@dataclass(frozen=True)
class Level:
    """What there is to solve, and the name of the lesson that it comes from.

    goal, hint: sentences. places: places[stage] is its rank. kinds: the letters to place.
    forward, input_grad, weight_grad: seconds, for each stage if they differ; B takes I + W.
    latency: seconds of a message. cap: how many micro-batches of a stage a rank has room for.
    steps: the micro-batches come in so many training steps. aim: "step" or "span". target: seconds
    that win, None: any complete plan does. par: the best known seconds, left out: the target;
    where there's none either, they are to be worked out.
    """

    id: str
    title: str
    goal: str
    hint: str
    places: tuple[int, ...]
    micro_batches: int
    kinds: str = "FB"
    forward: float | tuple[float, ...] = 1.0
    input_grad: float | tuple[float, ...] = 0.5
    weight_grad: float | tuple[float, ...] = 0.5
    latency: float = 0.0
    cap: int | None = None
    steps: int = 1
    aim: str = "step"
    target: float | None = None
    par: float | None = None
    lesson: str = "beyond_1f1b"

    def __post_init__(self):
        object.__setattr__(self, "par", self.target if self.par is None else self.par)

    @property
    def ranks(self) -> int:
        return max(self.places) + 1

    @cached_property
    def costs(self) -> Costs:
        """Return the costs with a list in every field; a micro-batch of a stage is one byte."""
        costs = Costs(
            self.forward,
            self.input_grad,
            self.weight_grad,
            latency=self.latency,
            activation_bytes=1.0,
            memory_limit=self.cap,
        )
        return costs.for_schedule(self.schedule(()))

    @property
    def total(self) -> int:
        """How many actions a complete plan has, where no backward is split."""
        return (3 if self.kinds == "FIW" else 2) * len(self.places) * self.micro_batches

    @property
    def least(self) -> float:
        """Seconds of work on the rank that has most of it: no step is shorter."""
        whole = [
            self.seconds(Action("F", s, 0)) + self.seconds(Action("B", s, 0))
            for s in range(len(self.places))
        ]
        rows = [0.0] * self.ranks
        for stage, rank in enumerate(self.places):
            rows[rank] += whole[stage] * self.micro_batches
        return max(rows)

    def schedule(self, orders: tuple) -> Schedule:
        orders = orders or ((),) * self.ranks
        return Schedule("by hand", orders, self.places, self.micro_batches)

    def step_of(self, micro_batch: int) -> int:
        return micro_batch * self.steps // self.micro_batches

    def seconds(self, action: Action) -> float:
        costs, s = self.costs, action.stage
        backward = costs.input_grad[s] * (action.kind in "BI")
        backward += costs.weight_grad[s] * (action.kind in "BW")
        return costs.forward[s] if action.kind == "F" else backward


class Refused(ValueError):
    """A move that can't be made: one sentence. needs: what it waits for."""

    def __init__(self, sentence: str, needs: tuple[Action, ...] = ()):
        super().__init__(sentence)
        self.needs = needs


@dataclass(frozen=True)
class Board:
    """A legal plan, complete or not. Every move returns a new one, or raises `Refused`.

    pairs: actions that run as one (F&B) as long as they are neighbors.
    """

    level: Level
    orders: tuple[tuple[Action, ...], ...] = ()
    pairs: frozenset[tuple[Action, Action]] = frozenset()

    def __post_init__(self):
        if not self.orders:
            object.__setattr__(self, "orders", ((),) * self.level.ranks)

    # --- moves ---

    def place(self, action: Action, position: int | None = None) -> "Board":
        """Put an action on the rank of its stage: at a position of its order, or at its end."""
        level = self.level
        if action.kind not in level.kinds:
            words = "the backward is in one piece, B" if action.kind in "IW" else "split it in I, W"
            raise Refused(f"{action}: there's no {action.kind} in this level: {words}")
        if not 0 <= action.stage < len(level.places):
            words = f"there are stages 0 to {len(level.places) - 1}"
            raise Refused(f"{action} is of stage {action.stage}, and {words}")
        rank = level.places[action.stage]
        order = list(self.orders[rank])
        order.insert(len(order) if position is None else position, action)
        return self._changed(rank, order, action)

    def remove(self, action: Action, with_users: bool = False) -> "Board":
        """Take an action out of the plan. with_users: and all that can't be done without it."""
        rank = self._rank_of(action)
        left = [each for each in self.orders[rank] if each != action]
        if not with_users:
            return self._changed(rank, left, action)
        orders = list(self.orders)
        orders[rank] = tuple(left)
        board = replace(self, orders=tuple(orders))
        while (blamed := board.blamed()) is not None:
            orders = [tuple(a for a in order if a != blamed) for order in board.orders]
            board = replace(board, orders=tuple(orders))
        return board

    def move(self, action: Action, position: int) -> "Board":
        """Put an action at another position of its rank's order."""
        rank = self._rank_of(action)
        order = [each for each in self.orders[rank] if each != action]
        order.insert(max(0, min(position, len(order))), action)
        return self._changed(rank, order, action)

    def _rank_of(self, action: Action) -> int:
        for rank, order in enumerate(self.orders):
            if action in order:
                return rank
        raise Refused(f"{action} isn't in the plan")

    def _changed(self, rank: int, order: list[Action], action: Action) -> "Board":
        orders = list(self.orders)
        orders[rank] = tuple(order)
        board = replace(self, orders=tuple(orders))
        sentence = board.problem()
        if sentence is not None:
            needs = missing(action, len(self.level.places), board.placed)
            raise Refused(sentence, tuple(choices[0] for choices in needs))
        return board

    # --- rules ---

    def problem(self) -> str | None:
        """Return why the plan can't run, complete or not; None: it can."""
        problem = find_problem(self.schedule, unfinished=True)
        if problem is not None:
            return str(problem)
        return (self._too_full() or self._too_soon() or (None, None))[0]

    def blamed(self) -> Action | None:
        """Return the action that can't be done, if there is one."""
        problem = find_problem(self.schedule, unfinished=True)
        if problem is not None and problem.action is not None:
            return problem.action
        if problem is not None:  # a circle of ranks: any action in it will do
            wait = problem.deadlock.core[0]
            return self.orders[wait.who][int(wait.where.split()[-1])]
        return (self._too_full() or self._too_soon() or (None, None))[1]

    def _too_full(self) -> tuple[str, Action] | None:
        cap = self.level.cap
        for rank, order in enumerate(self.orders if cap is not None else ()):
            kept = 0
            for position, action in enumerate(order):
                kept += KEPT[action.kind]
                if kept > cap:
                    free = "a B" if self.level.kinds == "FB" else "a W"
                    words = f"rank {rank}, position {position}: {action} finds no room, because "
                    words += f"rank {rank} keeps {cap} already and has room for {cap}: "
                    return words + f"{free} must free some first", action
        return None

    def _too_soon(self) -> tuple[str, Action] | None:
        level = self.level
        for rank, order in enumerate(self.orders if level.steps > 1 else ()):
            done: set[Action] = set()
            for position, action in enumerate(order):
                lacking = self.unfinished_before(rank, action.micro_batch, done)
                if lacking:
                    words = f"rank {rank}, position {position}: {action} is of the next step, and "
                    words += f"rank {rank} must first finish this one, with {lacking[0]}: "
                    return words + "its weights change in between", action
                done.add(action)
        return None

    def unfinished_before(
        self, rank: int, micro_batch: int, done: Container[Action]
    ) -> list[Action]:
        """Return what a rank must do of earlier steps before this micro-batch may begin there."""
        level = self.level
        first = level.step_of(micro_batch) * (level.micro_batches // level.steps)
        return [
            Action(level.kinds[-1], s, i)
            for i in range(first)
            for s, owner in enumerate(level.places)
            if owner == rank and not self._through(s, i, done)
        ]

    @staticmethod
    def _through(stage: int, i: int, done: Container[Action]) -> bool:
        return Action("B", stage, i) in done or Action("W", stage, i) in done

    # --- what is there ---

    @cached_property
    def schedule(self) -> Schedule:
        both = self.pairs
        pairs = [[n for n, two in enumerate(pairwise(row)) if two in both] for row in self.orders]
        return replace(self.level.schedule(self.orders), pairs=pairs)

    @cached_property
    def placed(self) -> frozenset[Action]:
        return frozenset(action for order in self.orders for action in order)

    @cached_property
    def simulated(self) -> Simulated:
        """The plan so far, simulated; the board is legal, so it can be."""
        return simulate(self.schedule, self.level.costs, proven=True)

    @property
    def complete(self) -> bool:
        ends = sum(action.kind in "BW" for action in self.placed)
        return ends == len(self.level.places) * self.level.micro_batches

    def kept(self, rank: int) -> int:
        """How many micro-batches of a stage a rank keeps after what is placed."""
        return sum(KEPT[action.kind] for action in self.orders[rank])

    def starts(self, action: Action) -> float | None:
        """When an action would start at the end of its rank's order; None: it isn't ready."""
        level = self.level
        if missing(action, len(level.places), self.placed):
            return None
        rank = level.places[action.stage]
        ends = self.simulated.times.ends[rank]
        free = ends[-1] if ends else 0.0
        stage = needed_stage(self.schedule, action)
        if stage is None:
            return free
        arrived = self.simulated.times.arrived[action.kind != "F"]
        return max(free, arrived[stage * level.micro_batches + action.micro_batch])

    def next_of(self, rank: int) -> list[tuple[Action, float | None]]:
        """Return what a rank could do next, one action of each stage and kind.

        With when it would start at the end of the rank's order; None: it isn't legal there.
        """
        level, found = self.level, []
        full = level.cap is not None and self.kept(rank) >= level.cap
        for stage in (s for s, owner in enumerate(level.places) if owner == rank):
            for kind in level.kinds:
                left = [
                    action
                    for i in range(level.micro_batches)
                    if (action := Action(kind, stage, i)) not in self.placed
                    and not self._other_way(action)
                ]
                ready = [a for a in left if not missing(a, len(level.places), self.placed)]
                for action in (ready or left)[:1]:
                    early = self.unfinished_before(rank, action.micro_batch, self.placed)
                    barred = early or (full and kind == "F")
                    found.append((action, None if barred else self.starts(action)))
        return found

    def _other_way(self, action: Action) -> bool:
        """Return whether the backward has been begun the other way: whole, or in halves."""
        other = {"B": "IW", "I": "B", "W": "B"}.get(action.kind, "")
        return any(Action(kind, *action[1:]) in self.placed for kind in other)
