"""A pace: stages that take a chosen time without using the processor.

Eight ranks on two cores cannot compute at the same time, and a trace of them shows the machine and
not the schedule. Asleep they can: with a pace, each action sleeps until its time is over, and the
waiting, the messages and the order are those of eight machines.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from helpers.schedules import Action, Schedule
from helpers.simulate import Costs

Seconds = float | Sequence[float]
PROMPT_S = 0.0005  # what was received within so short a time has been there before


@dataclass(frozen=True)
class Pace:
    """How long each action takes at least: one number for all stages, or one for each.

    forward, input_grad, weight_grad: seconds of F, I and W for one micro-batch; B takes I + W.
    What the action computes counts: take small stages, so that all of them fit in.

    Raises ValueError for a number below zero.
    """

    forward: Seconds = 0.02
    input_grad: Seconds = 0.02
    weight_grad: Seconds = 0.02

    def __post_init__(self):
        for name in ("forward", "input_grad", "weight_grad"):
            value = getattr(self, name)
            for seconds in value if isinstance(value, Sequence) else [value]:
                if not seconds >= 0:
                    raise ValueError(f"Pace({name}=...) holds {seconds}: give seconds, 0 or more")

    def costs(self, latency: float = 0.0) -> Costs:
        """The costs with which `simulate` foretells the paced step.

        latency: seconds of a message; `message_latency` measures it.
        """
        times = self.forward, self.input_grad, self.weight_grad
        return Costs(*times, latency=latency)

    def require(self, schedule: Schedule) -> "Pace":
        """The pace itself if it fits; ValueError, one sentence, if a list has a wrong length."""
        self.costs().for_schedule(schedule)
        return self

    def seconds(self, action: Action) -> float:
        """How long an action takes."""
        forward, i, w = (
            value[action.stage] if isinstance(value, Sequence) else value
            for value in (self.forward, self.input_grad, self.weight_grad)
        )
        return {"F": forward, "I": i, "W": w, "B": i + w}[action.kind]


class Metronome:
    """Holds the actions of one rank in one step to a pace; None: lets them run."""

    def __init__(self, pace: Pace | None):
        self.pace = pace
        self.free: float | None = None  # when the action before had had its time

    def rest(self, action: Action, asked: float, given: float) -> None:
        """Sleep until an action has had its time.

        asked, given: seconds of time.perf_counter when the rank was ready for the action, and when
        it had what the action needs. A sleep ends late, on a busy machine by milliseconds. So that
        this does not add up, an action that did not wait counts from the end that was meant.
        """
        if self.pace is None:
            return
        waited = self.free is None or given - asked > PROMPT_S
        end = (given if waited else self.free) + self.pace.seconds(action)
        now = time.perf_counter()
        if end > now:
            time.sleep(end - now)
        self.free = max(end, now)
