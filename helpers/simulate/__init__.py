"""Simulate a schedule: what a step takes, where it waits, what it keeps in memory, and why.

    done = simulate(one_f_one_b(4, 8), Costs(forward=1, input_grad=1, weight_grad=1))
    done.step_time, done.bubble()      33.0, 0.27
    done.idle[0]                       who waits, from when to when, for what
    done.trace                         the same kind of trace that real ranks record
    simulate(other, measured(trace))   from a real run to a plan that wasn't run

Nothing is random: the same schedule and costs give the same times.
"""

from helpers.schedules import Schedule, check
from helpers.simulate.causes import CAUSES, Idle
from helpers.simulate.costs import Costs, measured, run
from helpers.simulate.simulated import OutOfMemory, Simulated, require_room


def simulate(schedule: Schedule, costs: Costs | None = None, proven: bool = False) -> Simulated:
    """Simulate one training step of a schedule.

    costs: left out, F = I = W = 1 s, and messages are free.
    proven: `check` has passed the schedule before: a slider of costs asks for the same one again
        and again.

    Raises:
        BadSchedule: if the schedule can't run.
        OutOfMemory: if it keeps more activations than the limit.
        ValueError: if the costs don't fit the schedule.
    """
    if not proven:
        check(schedule)
    full = (costs or Costs()).for_schedule(schedule)
    require_room(schedule, full)
    return Simulated(schedule, full, run(schedule, full))
