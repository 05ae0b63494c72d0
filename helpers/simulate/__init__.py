"""A schedule on a clock: what a step takes, where it waits, what it keeps, and why.

    done = simulate(one_f_one_b(4, 8), Costs(forward=1, input_grad=1, weight_grad=1))
    done.step_time, done.bubble()      33.0, 0.27
    done.idle[0]                       who waits, from when to when, for what
    done.trace                         the same kind of trace that real ranks record

Nothing is drawn by chance: the same schedule and costs give the same times.
"""

from helpers.schedules import Schedule, check
from helpers.simulate.clock import run
from helpers.simulate.costs import Costs
from helpers.simulate.idle import CAUSES, Idle
from helpers.simulate.measured import measured
from helpers.simulate.memory import OutOfMemory, require_room
from helpers.simulate.simulated import Simulated

__all__ = [
    "CAUSES",
    "Costs",
    "Idle",
    "OutOfMemory",
    "Simulated",
    "measured",
    "simulate",
]


def simulate(schedule: Schedule, costs: Costs | None = None, proven: bool = False) -> Simulated:
    """One training step of a schedule; costs left out: F = I = W = 1 s, and messages are free.

    proven: `check` has passed it before: a slider of costs asks for the same one again and again.

    Raises BadSchedule for a schedule that cannot run, OutOfMemory for one that keeps more than
    the limit, ValueError for costs that do not fit; each is one sentence.
    """
    if not proven:
        check(schedule)
    full = (costs or Costs()).for_schedule(schedule)
    require_room(schedule, full)
    return Simulated(schedule, full, run(schedule, full))
