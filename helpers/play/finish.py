"""What is still to do, done well: the coach, "play on", "finish it", and par.

A greedy hand continues a plan: whichever rank can act first does what other ranks wait for, and
fills gaps with W. How far it runs ahead is its habit; the best of a few habits is what a position
is worth. A choice is real if its options are worth different times.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

from helpers.play.board import ROUNDING, Board, Level
from helpers.schedules import Action, Schedule
from helpers.search import Style, greedy_walk, rivals, search
from helpers.simulate import Simulated
from helpers.words import listed


@dataclass(frozen=True)
class Habit:
    """How the greedy hand plays.

    factor: how far ahead a rank runs: it keeps ``factor * chunks * distance to the last rank +
    chunks`` micro-batches between F and the backward. patience: so many of its lengths a W waits
    for something better. late: of two forwards, that of the earlier stage comes first.
    """

    factor: float
    patience: float = 0.0
    late: bool = False


HABITS = (
    *(Habit(factor, patience) for factor in (1.0, 1.5, 2.0, 9.0) for patience in (0.0, 0.9)),
    Habit(9.0, late=True),
    Habit(1.0, late=True),
)
NO_ROOM = "take back a forward, and try again"
QUICK = (HABITS[0], HABITS[4], HABITS[6])


def _played(board: Board, habit: Habit) -> Schedule | None:
    """Play a plan to its end in one habit; None where that leads to a dead end."""
    level, size = board.level, board.level.ranks
    chunks = len(level.places) // size
    ahead = [round(habit.factor * chunks * (size - 1 - r)) + chunks for r in range(size)]
    if chunks > 1:
        ahead = [math.ceil(habit.factor * len(level.places) / 2) + 1] * size
    style = Style(tuple(ahead), (habit.patience,) * size, True, habit.late)
    barred = board.unfinished_before if level.steps > 1 else None
    return greedy_walk(
        level.places, level.micro_batches, level.costs, style, level.kinds, board.simulated, barred
    )


@lru_cache(maxsize=512)
def finished(board: Board, habits: tuple[Habit, ...] = HABITS) -> Board | None:
    """Return the plan with everything that is missing, as good as the habits make it.

    None: every habit leads to a dead end, where memory is full and nothing can free it.
    """
    if board.complete:
        return board
    best = None
    for plan in known_plans(board.level):
        begun = zip(board.orders, plan.ranks, strict=True)
        if all(order == whole[: len(order)] for order, whole in begun):
            done = Board(board.level, plan.ranks, board.pairs)
            best = min(filter(None, (best, done)), key=worth)
    for habit in habits:
        plan = _played(board, habit)
        if plan is not None:
            done = Board(board.level, plan.ranks, board.pairs)
            if best is None or worth(done) < worth(best):
                best = done
    return best


def worth(board: Board | None) -> float:
    """Return the seconds that the level counts; infinite for a dead end."""
    return math.inf if board is None else aim_of(board.level, board.simulated)


def aim_of(level: Level, done: Simulated) -> float:
    return done.span if level.aim == "span" else done.step_time


def best_known(level: Level) -> float:
    """Return the best seconds that the named schedules, the search and the greedy hand find."""
    return worth(finished(Board(level)))


@lru_cache(maxsize=32)
def known_plans(level: Level, walks: int = 60) -> tuple[Schedule, ...]:
    """Return the named schedules and the searched one that are legal in a level."""
    m, plans = level.micro_batches, []
    if level.steps == 1:
        plans += rivals(level.places, m)
        if level.kinds == "FIW":
            found = search(level.ranks, m, level.costs, level.places, walks, level.aim)
            plans.append(found.schedule)
    kinds = set(level.kinds)
    fitting = [p for p in plans if {a.kind for order in p.ranks for a in order} <= kinds]
    return tuple(p for p in fitting if Board(level, p.ranks).problem() is None)


def next_moves(board: Board) -> list[tuple[Action, float]]:
    """Return what can be done at the earliest moment at which anything can, and when.

    All of them are of one rank: what other ranks can do at that moment doesn't compete with it.
    """
    ready = [
        (start, rank, action)
        for rank in range(board.level.ranks)
        for action, start in board.next_of(rank)
        if start is not None
    ]
    if not ready:
        return []
    first, who, _ = min(ready)
    return [(a, start) for start, rank, a in ready if rank == who and start <= first + ROUNDING]


def coached(
    board: Board, habits: tuple[Habit, ...] = HABITS
) -> tuple[str, list[Action], Action | None]:
    """Return what a coach says of the next move, what it's about, and the move it would make.

    Two or more actions: the choice is real, because they are worth different times; the first is
    the best. Who does what the coach says keeps what the coach promises, because the rest of the
    best continuation is the best one after its first move, too.
    """
    moves = [action for action, _ in next_moves(board)]
    if not moves:
        return "" if board.complete else "No rank can go on: take something back.", [], None
    plan = finished(board, habits)
    if plan is None:
        return f"The coach knows no end from here: {NO_ROOM}.", [], None
    rank = board.level.places[moves[0].stage]
    values = {move: worth(finished(board.place(move), habits)) for move in moves}
    best = min(values, key=lambda move: (values[move], "BIFW".index(move.kind), -move.stage))
    if values[best] > worth(plan) + ROUNDING:
        better = _first_of(plan, board)
        words = f"Do {better}, which can still reach {worth(plan):g} s. Rank {rank} could do "
        cost = [f"{m} now, which leads to {_seconds(values[m])}" for m in moves]
        return f"{words}{listed(cost)}, as far as the coach knows.", [better, *moves], better
    if len(moves) == 1:
        return f"Rank {rank} has one thing to do: {best}.", moves, best
    others = [m for m in moves if values[m] > values[best] + ROUNDING]
    if not others:
        words = f"Rank {rank} may do {listed(map(str, moves))}: it makes no difference."
        return words, [best], best
    cost = [f"{m} leads to {_seconds(values[m])}" for m in others]
    words = f"Rank {rank} has a real choice: with {best} you can still reach {values[best]:g} s, "
    return words + f"and {listed(cost)}.", [best, *others], best


def _first_of(plan: Board, board: Board) -> Action:
    """Return what a plan does first of all that isn't on the board yet."""
    starts = _starts(plan)
    return min(starts.keys() - board.placed, key=lambda action: (starts[action], action))


def _starts(board: Board) -> dict[Action, float]:
    rows = zip(board.orders, board.simulated.times.starts, strict=True)
    return {a: start for order, row in rows for a, start in zip(order, row, strict=True)}


def _seconds(value: float) -> str:
    return "a dead end" if math.isinf(value) else f"{value:g} s"


def slip_of(board: Board) -> tuple[Action, float, Board] | None:
    """Return the action since which the coach knows no way to the level's goal.

    With its start, and the plan before it. The known plans and the greedy hand know no way, that
    is, and there may be one. None: the goal is still in reach, or there is none.
    """
    goal = board.level.target
    starts = _starts(board)
    played = sorted(starts, key=starts.get)

    def before(count: int) -> Board:
        first = set(played[:count])
        orders = tuple(tuple(a for a in order if a in first) for order in board.orders)
        return Board(board.level, orders, board.pairs)

    def lost(count: int) -> bool:
        return worth(finished(before(count))) > goal + ROUNDING

    if goal is None or not lost(len(played)):
        return None
    slip = bisect_left(range(len(played)), True, key=lost) - 1
    return played[slip], starts[played[slip]], before(slip)


def name_of(board: Board) -> str:
    """Return a sentence that names a complete plan, or the nearest one that has a name."""
    level, nearest = board.level, (math.inf, "Your order has no name.")
    if level.steps > 1:
        return "No schedule of a single step has this order: two steps overlap in it."
    for plan in rivals(level.places, level.micro_batches):
        called = f"{plan.name} pipeline" if plan.name == "naive" else plan.name
        if plan.ranks == board.orders:
            return f"That was {'the ' * (plan.name == 'naive')}{called}."
        if {action.kind for row in plan.ranks for action in row} != set(level.kinds):
            continue
        if _without_w(plan.ranks) == _without_w(board.orders):
            return f"It's {called}, with W at other moments."
        known = Board(level, plan.ranks)
        seconds = worth(known) if known.problem() is None else math.inf
        nearest = min(nearest, (seconds, f"Your order has no name; {called} takes {seconds:g} s."))
    return nearest[1]


def _without_w(orders: tuple) -> list[list[Action]]:
    return [[action for action in row if action.kind != "W"] for row in orders]


def played_on(board: Board, most: int = 200) -> tuple[Board, str]:
    """Play on until something strange happens; return the plan and what it is."""
    for played in range(most):
        words, about, best = coached(board, QUICK)
        if best is None or (len(about) > 1 and played):
            return board, words
        held = _memory_waits(board)
        board = board.place(best)
        if _memory_waits(board) > held and played:
            words = f"Rank {board.level.places[best.stage]} had to wait for room before {best}."
            return board, words
    return board, ""


def _memory_waits(board: Board) -> int:
    if board.level.cap is None:
        return 0
    return sum(idle.cause == "memory" for idle in board.simulated.idle)
