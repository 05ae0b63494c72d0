"""Prove a schedule before it runs."""

from helpers.schedules.deadlock import stuck, stuck_blocking
from helpers.schedules.problem import BadSchedule
from helpers.schedules.rules import broken_rule
from helpers.schedules.schedule import Schedule
from helpers.waits import find_knot, sentence


def check(schedule: Schedule, blocking: bool = False) -> Schedule:
    """The schedule itself if it runs to its end; raises `BadSchedule`, one sentence, if not.

    Every stage does F and B, or F, I and W, once for each micro-batch; each action comes after
    what it needs; each message has its two ends; no ranks wait for each other in a circle.

    blocking: also require it of messages that block: each rank receives, computes, sends, one
        after the other, and a send ends only when its receive has begun. 1F1B does not pass: two
        neighbours both send first. An executor that posts its sends and goes on has no such need.
    """
    problem = find_problem(schedule, blocking)
    if problem is not None:
        raise problem
    return schedule


def find_problem(schedule: Schedule, blocking: bool = False) -> BadSchedule | None:
    """What `check` would raise, or None."""
    broken = broken_rule(schedule)
    if broken is not None:
        return broken
    waits = stuck(schedule) or (stuck_blocking(schedule) if blocking else [])
    if not waits:
        return None
    knot = find_knot(waits)
    return BadSchedule(f"deadlock: {sentence(knot)}", waits=tuple(waits), knot=knot)
