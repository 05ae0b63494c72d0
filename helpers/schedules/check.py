"""Prove a schedule before it runs: nothing missing, nothing twice, nothing before what it needs."""

from collections import Counter
from itertools import chain

from helpers.schedules.rule import Message, messages, missing
from helpers.schedules.schedule import KINDS, NO_RANK, Action, Schedule, pair_text
from helpers.schedules.walk import Times, walk
from helpers.waits import Wait, find_deadlock, sentence

CURE = "each stage does F and B, or F, I and W, once for each micro-batch"
TWINS = {"F": "F", "B": "BIW", "I": "IB", "W": "WB"}  # of these a stage does one: B, or I and W


class BadSchedule(ValueError):
    """A schedule that can't run. Its text is one sentence.

    rank, position, action: where, as far as it is in one place; else None. Counted from 0.
    """

    def __init__(
        self,
        sentence: str,
        rank: int | None = None,
        position: int | None = None,
        action: Action | None = None,
    ):
        super().__init__(sentence)
        self.rank, self.position, self.action = rank, position, action


def bad_at(rank: int, position: int, action: Action, words: str) -> BadSchedule:
    """Return the problem; its sentence begins with the place."""
    return BadSchedule(f"rank {rank}, position {position}: {words}", rank, position, action)


def check(schedule: Schedule, blocking: bool = False) -> Schedule:
    """Return the schedule itself if it runs to its end.

    Every stage does F and B, or F, I and W, once for each micro-batch; each action comes after
    what it needs; a pair is a forward and a backward of another micro-batch; no ranks wait for
    each other in a circle.

    blocking: also require it of messages that block: each rank receives, computes and sends, one
        after the other, and a send ends only when its receive has begun. 1F1B does not pass: two
        neighbors both send first. An executor that posts its sends and goes on can run it.

    Raises:
        BadSchedule: if it doesn't; one sentence that says where and why.
    """
    problem = find_problem(schedule, blocking)
    if problem is not None:
        raise problem
    return schedule


def find_problem(schedule: Schedule, blocking: bool = False) -> BadSchedule | None:
    """Return what `check` would raise, or None."""
    problem = _stages(schedule) or _actions(schedule) or _no_pair(schedule)
    if problem is not None:
        return problem
    times = walk(schedule)
    stuck = [rank for rank, row in enumerate(times.ends) if len(row) < len(schedule.ranks[rank])]
    ended = zip(schedule.ranks, times.ends, strict=True) if stuck else ()
    done = {action for row, ends in ended for action in row[: len(ends)]}
    problem = _too_early(schedule, times, stuck, done) or _missing(schedule)
    if problem is not None:
        return problem
    waits = [_computing(schedule, rank, len(times.ends[rank]), done) for rank in stuck]
    if blocking and not waits:
        waits = stuck_blocking(schedule)
    return BadSchedule(f"deadlock: {sentence(find_deadlock(waits))}") if waits else None


def _stages(schedule: Schedule) -> BadSchedule | None:
    if not schedule.stages:
        return BadSchedule("the schedule has no actions: " + CURE)
    for stage, rank in enumerate(schedule.rank_of):
        if not 0 <= rank < schedule.size:
            where = "no rank" if rank == NO_RANK else f"rank {rank}, which is not there"
            return BadSchedule(
                f"stage {stage} is on {where}: number stages and ranks from 0 without a gap, and "
                "give each stage a rank that has its actions"
            )
    total = sum(map(len, schedule.ranks))
    if schedule.stages * schedule.micro_batches > 1000 + 10 * total:
        # Far too few actions, as where a micro-batch is numbered 999999 by mistake.
        return _missing(schedule)
    return None


def _actions(schedule: Schedule) -> BadSchedule | None:
    """Return the first action that no order could make right: misplaced, or there a second time."""
    m, stages, rank_of = schedule.micro_batches, schedule.stages, schedule.rank_of
    done: dict[tuple, int] = {}  # with its position
    for rank, actions in enumerate(schedule.ranks):
        for position, action in enumerate(actions):
            kind, s, i = action
            if kind not in KINDS:
                words = f"has the kind {kind!r}: choose one of {', '.join(KINDS)}"
            elif not 0 <= s < stages:
                words = f"is of stage {s}, and there are stages 0 to {stages - 1}"
            elif rank_of[s] != rank:
                words = f"is of stage {s}, which is on rank {rank_of[s]}: a stage is on one rank "
                words += "only, with all of its actions"
            elif not 0 <= i < m:
                words = f"is of micro-batch {i}, and there are {m}, numbered 0 to {m - 1}"
            else:
                for other in TWINS[kind]:
                    if (twin := (other, s, i)) in done:
                        break
                else:
                    done[action] = position
                    continue
                words = f"is there a second time, after position {done[twin]}: keep one of them"
                if other != kind:
                    words = f"does again what {Action(*twin)} did at position {done[twin]}: do B, "
                    words += "or I and W, and not both"
            return bad_at(rank, position, action, f"{action} {words}")
    return None


def _no_pair(schedule: Schedule) -> BadSchedule | None:
    """Return the first pair that no order could make right."""
    for rank, pairs in enumerate(schedule.pairs):
        for position in pairs:
            turn = schedule.turn_at(rank, position)
            kinds, numbers = "".join(a.kind for a in turn), {a.micro_batch for a in turn}
            if kinds not in ("FB", "FI") or len(numbers) < 2:
                words = f"{pair_text(turn) or 'nothing'} is no pair: write a forward and the "
                words += "backward (B or I) of another micro-batch, in this order"
                return BadSchedule(f"rank {rank}, position {position}: {words}", rank, position)
    return None


def _unmet(
    schedule: Schedule, rank: int, position: int, done: set[Action]
) -> list[tuple[Action, tuple[Action, ...]]]:
    """Return what a rank waits for at a position: an action that needs it, and the choices."""
    return [
        (action, choices)
        for action in schedule.turn_at(rank, position)
        for choices in missing(action, schedule.stages, done)
    ]


def _too_early(
    schedule: Schedule, times: Times, stuck: list[int], done: set[Action]
) -> BadSchedule | None:
    """Return the first rank that waits for an action of its own."""
    for rank in stuck:
        order, position = schedule.ranks[rank], len(times.ends[rank])
        for action, choices in _unmet(schedule, rank, position, done):
            if schedule.rank_of[choices[0].stage] != rank:
                continue
            later = [choice for choice in choices if choice in order]
            if later:
                words = f"{action} needs {later[0]}, which comes later, at position "
                words += f"{order.index(later[0])}: move it before {action}"
            else:
                words = f"{action} needs {choices[0]}, which rank {rank} never does: add it before"
            return bad_at(rank, position, action, words)
    return None


def _missing(schedule: Schedule) -> BadSchedule | None:
    """The first action that no rank does, of a schedule whose actions are all in their places."""
    count = Counter(kind for kind, _, _ in chain(*schedule.ranks))
    whole = schedule.stages * schedule.micro_batches
    if count["F"] == count["B"] + count["I"] == whole and count["I"] == count["W"]:
        return None
    done = {action for actions in schedule.ranks for action in actions}
    for i in range(schedule.micro_batches):
        for s, rank in enumerate(schedule.rank_of):
            for kind in ("F", "W" if ("I", s, i) in done else "B"):
                action = Action(kind, s, i)
                if action not in done:
                    words = f"rank {rank} never does {action}: {CURE}"
                    return BadSchedule(words, rank, None, action)
    raise AssertionError("an action is missing, and all are there")  # not reached


def stuck_blocking(schedule: Schedule) -> list[Wait]:
    """Return what each rank waits for where a send returns only when its receive has begun, as that
    of a large message does. Each rank does its receive, its action, its send, in turn."""
    rows = messages(schedule)
    at = [0] * schedule.size
    awake = list(range(schedule.size))
    while awake:
        rank = awake.pop()
        while at[rank] < len(rows[rank]):
            mine = rows[rank][at[rank]]
            if at[mine.peer] == len(rows[mine.peer]):
                break
            other = rows[mine.peer][at[mine.peer]]
            if other.peer != rank or other.tag != mine.tag:
                break
            at[rank] += 1
            at[mine.peer] += 1
            awake.append(mine.peer)
    return [_messaging(rank, rows[rank][n]) for rank, n in enumerate(at) if n < len(rows[rank])]


def _computing(schedule: Schedule, rank: int, position: int, done: set[Action]) -> Wait:
    """Return what a rank waits for, stuck at a position of its order."""
    action, choices = _unmet(schedule, rank, position, done)[0]
    owner = schedule.rank_of[choices[0].stage]
    needed = next(choice for choice in choices if choice in schedule.ranks[owner])
    return Wait(rank, (owner,), f"needs {needed} for {action}", f"position {position}")


def _messaging(rank: int, message: Message) -> Wait:
    verb = "sends the result of" if message.kind == "send" else "receives the input of"
    return Wait(rank, (message.peer,), f"{verb} {message.action}", f"position {message.position}")
