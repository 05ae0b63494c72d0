"""What can be said of a schedule without running it: nothing missing, nothing twice, own order.

One walk over all actions with four byte arrays, so that a quarter of a million take a moment; the
search for the right words begins only when something is wrong.
"""

from helpers.schedules.action import KINDS, Action
from helpers.schedules.messages import needed_stage
from helpers.schedules.problem import BadSchedule, bad_at
from helpers.schedules.schedule import NO_RANK, Schedule

CURE = "each stage does F and B, or F, I and W, once for each micro-batch"


def broken_rule(schedule: Schedule) -> BadSchedule | None:
    """The first rule that the schedule breaks; None if it keeps all."""
    return _stages(schedule) or _each_action(schedule)


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


def _each_action(schedule: Schedule) -> BadSchedule | None:
    m, stages, rank_of = schedule.micro_batches, schedule.stages, schedule.rank_of
    done = {kind: bytearray(stages * m) for kind in KINDS}
    forward, whole, half = done["F"], done["B"], done["I"]
    for rank, actions in enumerate(schedule.ranks):
        for position, action in enumerate(actions):
            kind, s, i = action
            if kind not in done or not 0 <= s < stages or rank_of[s] != rank or not 0 <= i < m:
                return _misplaced(schedule, rank, position)
            key = s * m + i
            if done[kind][key]:
                return _twice(schedule, rank, position)
            if kind == "F":
                ready = not s or rank_of[s - 1] != rank or forward[key - m]
            elif kind == "W":
                ready = half[key]
            else:
                ready = forward[key] and not whole[key] and not half[key]
                if s + 1 < stages and rank_of[s + 1] == rank:
                    ready = ready and (whole[key + m] or half[key + m])
            if not ready:
                return _too_early(schedule, rank, position)
            done[kind][key] = 1
    backwards = whole.count(1) + half.count(1)
    if forward.count(1) + backwards < 2 * stages * m or half.count(1) > done["W"].count(1):
        return _missing(schedule)
    return None


def _misplaced(schedule: Schedule, rank: int, position: int) -> BadSchedule:
    action = schedule.ranks[rank][position]
    kind, s, i = action
    if kind not in KINDS:
        words = f"{action} has the kind {kind!r}: choose one of {', '.join(KINDS)}"
    elif not 0 <= s < schedule.stages:
        words = f"{action} is of stage {s}, and there are stages 0 to {schedule.stages - 1}"
    elif schedule.rank_of[s] != rank:
        words = f"{action} is of stage {s}, which is on rank {schedule.rank_of[s]}: "
        words += "a stage is on one rank only, with all of its actions"
    else:
        words = f"{action} is of micro-batch {i}, and there are {schedule.micro_batches}, "
        words += f"numbered 0 to {schedule.micro_batches - 1}"
    return bad_at(rank, position, action, words)


def _twice(schedule: Schedule, rank: int, position: int) -> BadSchedule:
    action = schedule.ranks[rank][position]
    first = schedule.ranks[rank].index(action)
    words = f"{action} is there a second time, after position {first}: keep one of them"
    return bad_at(rank, position, action, words)


def _too_early(schedule: Schedule, rank: int, position: int) -> BadSchedule:
    action = schedule.ranks[rank][position]
    order = schedule.ranks[rank]
    kind, s, i = action
    for other in {"B": "I", "I": "B"}.get(kind, ""):
        twin = Action(other, s, i)
        if twin in order[:position]:
            words = f"{action} does again what {twin} did at position {order.index(twin)}: "
            return bad_at(rank, position, action, words + "do B, or I and W, and not both")
    wanted = [] if kind == "F" else [[Action("I" if kind == "W" else "F", s, i)]]
    before = needed_stage(schedule, action)
    if before is not None and schedule.rank_of[before] == rank:
        wanted.append([Action(letter, before, i) for letter in ("F" if kind == "F" else "BI")])
    for choices in wanted:
        if not any(choice in order[:position] for choice in choices):
            later = [choice for choice in choices if choice in order]
            if later:
                words = f"{action} needs {later[0]}, which comes later, at position "
                words += f"{order.index(later[0])}: move it before {action}"
            else:
                words = f"{action} needs {choices[0]}, which rank {rank} never does: add it before"
            return bad_at(rank, position, action, words)
    raise AssertionError(f"{action} is not ready, and nothing is missing")  # not reached


def _missing(schedule: Schedule) -> BadSchedule:
    """The first action that no rank does."""
    done = {action for actions in schedule.ranks for action in actions}
    for i in range(schedule.micro_batches):
        for s, rank in enumerate(schedule.rank_of):
            for kind in ("F", "W" if ("I", s, i) in done else "B"):
                action = Action(kind, s, i)
                if action not in done:
                    words = f"rank {rank} never does {action}: {CURE}"
                    return BadSchedule(words, rank, None, action)
    raise AssertionError("an action is missing, and all are there")  # not reached
