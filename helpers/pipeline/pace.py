"""A pace: let stages take a chosen time without using the processor.

Eight ranks on two cores can't compute at the same time, so a trace of them shows the machine and
not the schedule. But they can sleep at the same time. With a pace, each action sleeps until its
time is over, and the waiting, the messages and the order are those of eight machines.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from helpers.schedules import Action, Schedule
from helpers.simulate import Costs

PerStage = float | Sequence[float]
PROMPT_S = 0.0005  # what was received within so short a time was already there


@dataclass(frozen=True)
class Pace:
    """How long each action takes at least, as one number for all stages or one for each.

    What the action computes counts toward its time, so take stages small enough to fit in.

    Args:
        forward, input_grad, weight_grad: seconds of F, I and W for one micro-batch; B takes I + W.

    Raises:
        ValueError: if a number is negative.
    """

    forward: PerStage = 0.02
    input_grad: PerStage = 0.02
    weight_grad: PerStage = 0.02

    def __post_init__(self):
        for name in ("forward", "input_grad", "weight_grad"):
            value = getattr(self, name)
            for seconds in value if isinstance(value, Sequence) else [value]:
                if not seconds >= 0:
                    raise ValueError(f"Pace({name}=...) holds {seconds}: give seconds, 0 or more")

    def costs(self, latency: float = 0.0) -> Costs:
        """Return the costs with which `simulate` predicts the paced step.

        latency: seconds of a message.
        """
        times = self.forward, self.input_grad, self.weight_grad
        return Costs(*times, latency=latency)

    def require(self, schedule: Schedule) -> "Pace":
        """Return the pace itself if it fits the schedule.

        Raises:
            ValueError: if a list has another length than the schedule has stages.
        """
        self.costs().for_schedule(schedule)
        return self

    def seconds(self, action: Action) -> float:
        """Return how long an action takes."""
        forward, i, w = (
            value[action.stage] if isinstance(value, Sequence) else value
            for value in (self.forward, self.input_grad, self.weight_grad)
        )
        return {"F": forward, "I": i, "W": w, "B": i + w}[action.kind]


class Pacer:
    """Hold the actions of one rank in one step to a pace; without a pace, let them run."""

    def __init__(self, pace: Pace | None):
        self.pace = pace
        self.due: float | None = None  # when the action before was due to end

    def sleep_until_due(self, action: Action, ready_at: float, received_at: float) -> None:
        """Sleep until an action has had its time.

        A sleep ends late, on a busy machine by milliseconds. To keep this from adding up, an action
        that didn't have to wait for its input counts from when the one before was due to end.

        ready_at, received_at: seconds of time.perf_counter when the rank was ready for the action,
        and when it had what the action needs.
        """
        if self.pace is None:
            return
        waited = self.due is None or received_at - ready_at > PROMPT_S
        end = (received_at if waited else self.due) + self.pace.seconds(action)
        now = time.perf_counter()
        if end > now:
            time.sleep(end - now)
        self.due = max(end, now)
