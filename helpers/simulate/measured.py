"""Costs from a real run: measure once, then simulate what was not run."""

from collections import defaultdict
from statistics import median

from helpers.simulate.costs import Costs
from helpers.trace import Event, Trace, messages


def measured(trace: Trace) -> Costs:
    """The costs that a trace of a pipeline shows, for `simulate`.

    Seconds are medians over the micro-batches of a stage, for the first ones are often slow.
    Where B was not split, each half gets half of it. latency: the median of the messages that
    were waited for, from the start of the send to the end of the receive, bytes and all.
    update: the median of each stage's, where they name it.

    Raises ValueError if a stage has no forward or no backward in the trace.
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
    """Seconds of I or W: its own, or half of B's."""
    own = seconds.get((kind, stage))
    return median(own) if own else median(seconds["B", stage]) / 2


def _latency(trace: Trace) -> float:
    waited: list[float] = [
        receive.end - send.start for send, receive in messages(trace) if _came_first(receive, send)
    ]
    return max(0.0, median(waited)) if waited else 0.0


def _came_first(receive: Event, send: Event) -> bool:
    return receive.start <= send.start
