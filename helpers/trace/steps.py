"""The steps of a recorded training: from one update of rank 0 to the next."""

from itertools import pairwise

from helpers.trace.events import Trace


def updates(trace: Trace) -> list[float]:
    """Return when rank 0 has ended each of its updates."""
    return sorted(e.end for e in trace.events_of(0) if e.kind == "update")


def last_steps(trace: Trace, count: int = 1) -> Trace:
    """Return the last `count` steps of a training."""
    ends = updates(trace)
    return trace.between(ends[-count - 1], ends[-1])


def step_seconds(trace: Trace) -> list[float]:
    """Return how long each step took but the first."""
    return [end - start for start, end in pairwise(updates(trace))]
