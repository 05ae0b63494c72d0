"""Does every rank get to the end of its order, or do some wait for each other for ever?"""

from helpers.schedules.action import Action
from helpers.schedules.messages import Message, messages
from helpers.schedules.schedule import Schedule
from helpers.waits import Wait


def stuck(schedule: Schedule) -> list[Wait]:
    """What each rank waits for when nothing moves any more; [] if all get to the end.

    Messages leave at once and wait for nobody; a rank stops only where its next action needs what
    has not been computed. For schedules that keep the rules of `broken_rule`.
    """
    m, stages = schedule.micro_batches, schedule.stages
    forward, backward = bytearray(stages * m), bytearray(stages * m)
    at = [0] * schedule.size
    asleep: dict[int, int] = {}  # what a rank waits for: the rank
    awake = list(range(schedule.size))
    last = stages - 1
    while awake:
        rank = awake.pop()
        actions = schedule.ranks[rank]
        for position in range(at[rank], len(actions)):
            kind, s, i = actions[position]
            key = s * m + i
            if kind == "F":
                if s and not forward[key - m]:
                    asleep[key - m] = rank
                    break
                forward[key] = 1
                wake = key
            elif kind != "W":
                if s < last and not backward[key + m]:
                    asleep[~(key + m)] = rank  # below zero: a gradient
                    break
                backward[key] = 1
                wake = ~key
            else:
                continue
            if wake in asleep:
                awake.append(asleep.pop(wake))
        else:
            position = len(actions)
        at[rank] = position
    return [_computing(schedule, r, at[r]) for r in range(schedule.size) if r in asleep.values()]


def stuck_blocking(schedule: Schedule) -> list[Wait]:
    """The same where a send returns only when its receive has begun, as large messages behave.

    Each rank does its receive, its action, its send, one after the other.
    """
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
    return [
        _messaging(schedule, rank, rows[rank][n])
        for rank, n in enumerate(at)
        if n < len(rows[rank])
    ]


def _computing(schedule: Schedule, rank: int, position: int) -> Wait:
    action = schedule.ranks[rank][position]
    kind, s, i = action
    before = s - 1 if kind == "F" else s + 1
    owner = schedule.rank_of[before]
    choices = [Action("F", before, i)] if kind == "F" else [Action(k, before, i) for k in "BI"]
    needed = next(choice for choice in choices if choice in schedule.ranks[owner])
    line = _line(schedule, rank, position)
    return Wait(rank, (owner,), f"needs {needed} for {action}", f"position {position}", line)


def _messaging(schedule: Schedule, rank: int, message: Message) -> Wait:
    verb = "sends the result of" if message.kind == "send" else "receives the input of"
    line = _line(schedule, rank, message.position)
    where = f"position {message.position}"
    return Wait(rank, (message.peer,), f"{verb} {message.action}", where, line)


def _line(schedule: Schedule, rank: int, position: int, around: int = 2) -> str:
    """The order near a position: "… 0F0 [0F1] 0B0 …"."""
    order = schedule.ranks[rank]
    start, end = max(0, position - around), min(len(order), position + around + 1)
    cells = [f"[{order[n]}]" if n == position else str(order[n]) for n in range(start, end)]
    return " ".join(["…"] * (start > 0) + cells + ["…"] * (end < len(order)))
