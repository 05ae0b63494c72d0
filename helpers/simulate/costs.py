"""What each action and each message costs, in seconds and bytes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real

from helpers.schedules import Schedule

Numbers = float | Sequence[float]
MOST = 10**300  # what a float holds


@dataclass(frozen=True)
class Costs:
    """Give one number for all, or a sequence with one for each stage (or what is named).

    forward, input_grad, weight_grad: seconds of F, I and W for one micro-batch; B takes I + W.
    speed: of each rank; 0.5 takes twice as long for everything it computes.
    latency: seconds from the start of a message to its arrival, however small it is.
    bandwidth: bytes a second. The messages from one rank to another follow each other: the next
        begins when the bytes of the one before have left. Computing goes on meanwhile.
    message_bytes: of one micro-batch's activations, or of their gradient.
        These three: one for each pair of neighbouring stages, that is stages - 1.
    activation_bytes: what a stage keeps of one micro-batch from the start of F to the end of B.
    kept_for_weights: the share of it that stays from the end of I to the end of W, 0 to 1.
    memory_limit: bytes of activations that a rank has room for; None: no limit.
    all_reduce: seconds for averaging a stage's gradients over its replicas, after the last action
        of its rank. update: seconds of the optimizer for a stage, after that.

    The replicas of data parallelism do the same at the same time, so one of them is simulated.
    """

    forward: Numbers = 1.0
    input_grad: Numbers = 1.0
    weight_grad: Numbers = 1.0
    speed: Numbers = 1.0
    latency: Numbers = 0.0
    bandwidth: Numbers = math.inf
    message_bytes: Numbers = 0
    activation_bytes: Numbers = 0
    kept_for_weights: float = 1.0
    memory_limit: float | None = None
    all_reduce: Numbers = 0.0
    update: Numbers = 0.0

    def for_schedule(self, schedule: Schedule) -> "Costs":
        """The same with a list in every field that may be one.

        Raises ValueError, one sentence, for a list of the wrong length, a number below zero, and
        a speed or bandwidth of zero.
        """
        count = {"speed": schedule.size}
        count |= dict.fromkeys(("latency", "bandwidth", "message_bytes"), schedule.stages - 1)
        full = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "memory_limit" and value is None:
                continue
            if field.name in ("memory_limit", "kept_for_weights"):
                full[field.name] = _right([value], field.name)[0]
                continue
            needed = count.get(field.name, schedule.stages)
            full[field.name] = _right(_as_list(value, needed, field.name), field.name)
        if full["kept_for_weights"] > 1:
            raise ValueError(
                f"Costs(kept_for_weights={self.kept_for_weights}): a share is from 0 to 1"
            )
        return replace(self, **full)


def _as_list(value: Numbers, needed: int, name: str) -> list[float]:
    if isinstance(value, Real):
        return [value] * needed
    if isinstance(value, str) or not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0:
        raise ValueError(f"Costs({name}={value!r}): give a number, or a list of numbers")
    value = list(value)
    if len(value) != needed:
        what = {"speed": "rank"}.get(name, "stage")
        if name in ("latency", "bandwidth", "message_bytes"):
            what = "pair of neighbouring stages"
        raise ValueError(
            f"Costs({name}=...) has {len(value)} numbers, and the schedule needs {needed}: one "
            f"for each {what}; or give a single number"
        )
    return value


def _right(values: list[float], name: str) -> list[float]:
    positive = name in ("speed", "bandwidth")
    for value in values:
        if not isinstance(value, Real):
            raise ValueError(f"Costs({name}=...) holds {value!r}: it must be a number")
        if isinstance(value, int) and abs(value) > MOST:
            raise ValueError(f"Costs({name}=...) holds a number of {len(str(value))} digits")
        if not (value > 0 if positive else 0 <= value < math.inf):
            limit = "above 0" if positive else "0 or more, and finite"
            raise ValueError(f"Costs({name}=...) holds {value}: it must be {limit}")
    return values
