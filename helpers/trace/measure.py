"""Numbers of a trace: how busy, how idle, and what for.

A rank is busy in an event of the compute lane that is no "wait"; what overlaps counts once. Its
time runs from the trace's first start to its last end: who finishes early is idle until the end.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from helpers.trace.events import COLLECTIVES, LANES, MESSAGES, Event, Trace

Interval = tuple[float, float]
CAUSES = ("finished", "wait", "communication", "input", "nothing")
MARKED = frozenset({"F", "B", "I", "W", "update"})  # what scripts mark with record_function
# torch.profiler's finer events below the marks, the best first: see `read_foreign`.
FINER = ("kernels", "operators")


def union(events: Iterable[Event]) -> list[Interval]:
    """Return the times (start, end) in which at least one of the events goes on."""
    return joined((e.start, e.end) for e in events)


def joined(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the times that lie in at least one of the intervals, sorted and free of overlap."""
    whole: list[Interval] = []
    for start, end in sorted(intervals):
        if whole and start <= whole[-1][1]:
            start, before = whole.pop()
            end = max(before, end)
        whole.append((start, end))
    return whole


def length(intervals: Iterable[Interval]) -> float:
    return sum((end - start for start, end in intervals), 0.0)


def without(intervals: list[Interval], taken: list[Interval]) -> list[Interval]:
    """Return what is left of `intervals` outside `taken`; both sorted and free of overlap."""
    left, rest = [], deque(taken)
    for start, end in intervals:
        while rest and rest[0][1] <= start:
            rest.popleft()
        for begin, stop in rest:
            if begin >= end:
                break
            if begin > start:
                left.append((start, begin))
            start = max(start, stop)
        if start < end:
            left.append((start, end))
    return left


def divided(free: list[Interval], *takers: list[Interval]) -> list[float]:
    """Return the seconds of `free` that each taker is the first to have; last what is left."""
    seconds = []
    for taken in takers:
        rest = without(free, taken)
        seconds.append(length(free) - length(rest))
        free = rest
    return [*seconds, length(free)]


def is_work(event: Event) -> bool:
    return event.lane == "compute" and event.kind != "wait"


def busy(trace: Trace) -> dict[int, float]:
    """Return the seconds in which each rank computed."""
    return {rank: length(union(filter(is_work, row))) for rank, row in trace.by_rank().items()}


def idle(trace: Trace) -> dict[int, float]:
    """Return the seconds in which each rank did not compute."""
    duration = trace.duration
    return {rank: duration - seconds for rank, seconds in busy(trace).items()}


def bubble(trace: Trace) -> float:
    """Return the idle share of a trace, measured or simulated: idle time over ranks x duration, 0
    to 1. GPipe and 1F1B: (p-1)/(m+p-1) for p stages and m micro-batches (GPipe, arXiv 1811.06965).
    It's what prose and pictures mean; `helpers.simulate` has two more definitions."""
    room = len(trace.ranks) * trace.duration
    return 1 - sum(busy(trace).values()) / room if room else 0.0


def idle_by_cause(trace: Trace) -> dict[int, dict[str, float]]:
    """Return what each rank did while it didn't compute: seconds under five names.

    "finished" (nothing is left to do while others still work), "wait" (for another rank, a message,
    also one in transit, or memory), "communication" (in a collective whose members have all
    arrived), "input", and "nothing" (no event at all). Where several go on at once, the first of
    these names gets the time. The five add up to `idle`.
    """
    causes, whole = {}, [(trace.start, trace.end)]
    for rank, row in trace.by_rank().items():
        free = without(whole, union(filter(is_work, row)))
        each = [union(e for e in row if _cause(e) == cause) for cause in CAUSES[:-1]]
        causes[rank] = dict(zip(CAUSES, divided(free, *each), strict=True))
    return causes


def has_finished(event: Event) -> bool:
    """Return whether a rank has nothing left to do, which is no waiting."""
    return event.kind == "wait" and event.info.get("cause") == "finished"


def _cause(event: Event) -> str:
    """Return why a rank doesn't compute: while its message is in transit, it waits."""
    if has_finished(event):
        return "finished"
    return "wait" if event.kind == "wait" or event.kind in MESSAGES else event.lane


def peak(trace: Trace, name: str = "memory") -> dict[int, float]:
    """Return the largest value of a counter on each rank that has it; "memory" is in bytes."""
    counts = sorted((c.rank, c.value) for c in trace.counters if c.name == name)
    return dict(counts)  # of each rank the last one


@dataclass(frozen=True)
class Shares:
    """Of the time that a rank's steps took (`seconds`), 0 to 1; the four add up to 1, or are 0. At
    each moment the first that goes on has the time: communication is what no computing hides."""

    seconds: float
    computing: float
    communication: float
    input: float
    idle: float


def shares(trace: Trace) -> dict[int, Shares]:
    """Return the shares of each rank's steps: computing, communication, input, and idle.

    The steps are the events of kind "step" (torch.profiler's "ProfilerStep"); without any, all of
    the trace. Computing is what the compute lane says, with one exception. torch.profiler knows
    more than its marks: a rank that waits for an all-reduce at the end of a marked backward does
    not compute. So on a GPU the kernels count; on a processor a mark does not count while a
    collective goes on and no operator runs. An operator inside of an input belongs to the input.
    """
    found, whole = {}, [(trace.start, trace.end)]
    for rank, events in trace.by_rank().items():
        window = union(e for e in events if e.kind == "step") or whole
        communication = union(e for e in events if e.lane == "communication" or e.kind == "wait")
        reading = union(e for e in events if e.lane == "input")
        computing = _computing(events, communication, reading)
        seconds = divided(window, computing, communication, reading)
        found[rank] = Shares(length(window), *(s / (length(window) or 1.0) for s in seconds))
    return found


def _computing(
    events: list[Event], communication: list[Interval], reading: list[Interval]
) -> list[Interval]:
    work = [e for e in events if is_work(e)]
    lanes = {e.lane for e in events} if all(e.kind in MARKED for e in work) else set()
    lane = next((lane for lane in FINER if lane in lanes), None)
    finer = [e for e in events if e.lane == lane and not e.kind.startswith("c10d::")]
    if lane == "kernels":
        return union(finer)
    if lane == "operators":
        return joined([*without(union(finer), reading), *without(union(work), communication)])
    return union(work)


def in_lanes(trace: Trace) -> Trace:
    """Return the trace to look at: its steps, and of these the three lanes that tell the story.

    Operators, kernels and Python functions are left out, and so is what lies inside an event of
    its own kind ("Optimizer.step" in a marked update).
    """
    if steps := [e for e in trace.events if e.kind == "step"]:
        trace = trace.between(min(e.start for e in steps), max(e.end for e in steps))
    kept: list[Event] = []
    for events in trace.by_rank().values():
        ends: dict[tuple[str, str], float] = {}  # of each kind: where the last one kept ends
        for event in events:
            key = event.lane, event.kind
            if event.lane in LANES and event.end > ends.get(key, float("-inf")):
                ends[key] = event.end
                kept.append(event)
    return Trace(kept, trace.meta, trace.counters).merged()


def cut_by(trace: Trace) -> Trace:
    """Return the trace with its computing cut wherever a collective goes on on that rank.

    A forward that stops in the middle for an all-reduce becomes two pieces: the rank doesn't
    compute while it communicates. Right for calls that block, wrong for those that overlap.
    """
    kept = []
    for events in trace.by_rank().values():
        inside = union(e for e in events if e.kind in COLLECTIVES)
        for event in events:
            free = [(event.start, event.end)]
            cuts = is_work(event) and event.kind not in COLLECTIVES
            pieces = without(free, inside) if cuts else free
            kept += [replace(event, start=start, end=end) for start, end in pieces]
    return Trace(kept, trace.meta, trace.counters).merged()


def last_steps(trace: Trace, count: int = 1) -> Trace:
    """Return the last `count` steps of a training, from one update of rank 0 to the next."""
    ends = sorted(e.end for e in trace.events_of(0) if e.kind == "update")
    return trace.between(ends[-count - 1], ends[-1])
