"""What each action and each message costs, in seconds and bytes: as given, or as measured."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from statistics import median

from helpers.schedules import Schedule, Times, walk
from helpers.trace import Trace, matched_messages

Numbers = float | Sequence[float]


@dataclass(frozen=True)
class Costs:
    """What one step costs: each field one number for all, or a sequence, one for each stage.

    forward, input_grad, weight_grad: seconds of F, I and W for one micro-batch; B takes I + W.
    pair_share: the share of its F + B (or F + I) that a pair takes, all of it if left out.
    speed: of each rank; 0.5 takes twice as long for everything it computes.
    latency: seconds from the start of a message to its arrival, however small it is.
    bandwidth: bytes a second. The messages from one rank to another follow each other: the next
        begins when the bytes of the one before have left. Computing goes on meanwhile.
    message_bytes: of one micro-batch's activations, or of their gradient.
        These three: one for each pair of neighboring stages, that is stages - 1.
    activation_bytes: what a stage keeps of one micro-batch from the start of F to the end of B.
    kept_for_weights: the share of it that stays from the end of I to the end of W, 0 to 1.
    memory_limit: bytes of activations that a rank has room for; None: no limit.
    all_reduce: seconds for averaging a stage's gradients over its replicas, after the last action
        of its rank. update: seconds of the optimizer for a stage, after that.

    Data-parallel replicas do the same at the same time, so one of them is simulated.
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
    pair_share: float = 1.0

    def for_schedule(self, schedule: Schedule) -> "Costs":
        """Return the same costs with a list in every field that may be one.

        Raises:
            ValueError: for a list of the wrong length, a number below zero, or a speed or
                bandwidth of zero.
        """
        count = {"speed": schedule.size}
        count |= dict.fromkeys(("latency", "bandwidth", "message_bytes"), schedule.stages - 1)
        full = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "memory_limit" and value is None:
                continue
            if field.name in ("memory_limit", "kept_for_weights", "pair_share"):
                full[field.name] = _right([_plain(value)], field.name)[0]
                continue
            needed = count.get(field.name, schedule.stages)
            full[field.name] = _right(_as_list(value, needed, field.name), field.name)
        if full["kept_for_weights"] > 1:
            raise ValueError(
                f"Costs(kept_for_weights={self.kept_for_weights}): a share is from 0 to 1"
            )
        return replace(self, **full)


def _as_list(value: Numbers, needed: int, name: str) -> list[float]:
    value = _plain(value)
    if isinstance(value, Real):
        return [value] * needed
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise ValueError(f"Costs({name}={value!r}): give a number, or a list of numbers")
    value = [_plain(each) for each in value]
    if len(value) != needed:
        what = {"speed": "rank"}.get(name, "stage")
        if name in ("latency", "bandwidth", "message_bytes"):
            what = "pair of neighboring stages"
        raise ValueError(
            f"Costs({name}=...) has {len(value)} numbers, and the schedule needs {needed}: one "
            f"for each {what}; or give a single number"
        )
    return value


def _plain(value: object) -> object:
    """Return the number in a numpy or torch scalar, and anything else as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _right(values: list[float], name: str) -> list[float]:
    positive = name in ("speed", "bandwidth")
    for value in values:
        if not isinstance(value, Real):
            raise ValueError(f"Costs({name}=...) holds {value!r}: it must be a number")
        if not (value > 0 if positive else 0 <= value < math.inf):
            limit = "above 0" if positive else "0 or more, and finite"
            raise ValueError(f"Costs({name}=...) holds {value}: it must be {limit}")
    return values


def run(schedule: Schedule, costs: Costs) -> Times:
    """Return when everything happens in a schedule that `check` has passed.

    costs: with lists, from `Costs.for_schedule`.
    """
    links = links_of(schedule, costs, forward=True), links_of(schedule, costs, forward=False)
    return walk(schedule, seconds_of(schedule.rank_of, costs), links, costs.pair_share)


def seconds_of(places: Sequence[int], costs: Costs) -> dict[str, list[float]]:
    """Return the seconds of each kind of action on each stage, at the speed of its rank.

    places: places[stage] is its rank. costs: with lists, from `Costs.for_schedule`.
    """
    speed = [costs.speed[rank] for rank in places]
    kinds = {"F": costs.forward, "I": costs.input_grad, "W": costs.weight_grad}
    kinds["B"] = [i + w for i, w in zip(costs.input_grad, costs.weight_grad, strict=True)]
    return {k: [x / v for x, v in zip(row, speed, strict=True)] for k, row in kinds.items()}


def links_of(schedule: Schedule, costs: Costs, forward: bool) -> list:
    """Return for each stage the link of its results: (from rank, to rank), latency, transfer time.

    None where both stages are on one rank, and for the stage whose results no other stage needs.
    """
    links: list[tuple[tuple[int, int], float, float] | None] = [None] * schedule.stages
    for low in range(schedule.stages - 1):
        source, target = (low, low + 1) if forward else (low + 1, low)
        pair = schedule.rank_of[source], schedule.rank_of[target]
        if pair[0] != pair[1]:
            transfer = costs.message_bytes[low] / costs.bandwidth[low]
            links[source] = pair, costs.latency[low], transfer
    return links


def measured(trace: Trace) -> Costs:
    """Return the costs that the trace of a real pipeline shows: measure one run, simulate another.

    Seconds are medians over the micro-batches of a stage, for the first ones are often slow.
    Where B was not split, each half gets half of it. latency: the median of the messages that
    were waited for, from the start of the send to the end of the receive, bytes and all.
    update: the median of each stage's, where they name it.

    Raises:
        ValueError: if a stage has no forward or no backward in the trace.
    """
    seconds: dict[tuple[str, int], list[float]] = defaultdict(list)
    for event in trace.events:
        if "stage" in event.info:
            seconds[event.kind, event.info["stage"]].append(event.duration)
    stages = range(max((stage for kind, stage in seconds if kind == "F"), default=-1) + 1)
    if not stages:
        raise ValueError("the trace has no forward that names its stage: nothing to measure")
    for stage in stages:
        halves = ("I", stage) in seconds and ("W", stage) in seconds
        if ("F", stage) not in seconds or not (halves or ("B", stage) in seconds):
            raise ValueError(
                f"the trace has no complete forward and backward of stage {stage}: record a whole "
                "step of every rank"
            )
    return Costs(
        forward=[median(seconds["F", s]) for s in stages],
        input_grad=[_half(seconds, "I", s) for s in stages],
        weight_grad=[_half(seconds, "W", s) for s in stages],
        latency=_latency(trace),
        update=[median(seconds.get(("update", s), [0.0])) for s in stages],
    )


def _half(seconds: dict[tuple[str, int], list[float]], kind: str, stage: int) -> float:
    """Return the seconds of I or W: its own, or half of B's."""
    own = seconds.get((kind, stage))
    return median(own) if own else median(seconds["B", stage]) / 2


def _latency(trace: Trace) -> float:
    waited = [
        receive.end - send.start
        for send, receive in matched_messages(trace)
        if receive.start <= send.start
    ]
    return max(0.0, median(waited)) if waited else 0.0
