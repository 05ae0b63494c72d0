"""Where the time of a step goes: computing, communication, input, or nothing at all."""

from dataclasses import dataclass, replace

from helpers.trace.events import LANES, Event, Trace
from helpers.trace.measure import Interval, is_work, joined, length, union, without

MARKED = frozenset({"F", "B", "I", "W", "update"})  # what scripts mark with record_function
# torch.profiler's finer events below the marks, the best first: see `read_foreign`.
FINER = ("kernels", "operators")
SEEN = 0.01  # of a picture's width


@dataclass(frozen=True)
class Shares:
    """Of the time that a rank's steps took (`seconds`), 0 to 1; the four add up to 1.

    Where no time passed, they are 0. At each moment the first of these that goes on has
    the time: so communication and input are what no computing hides.
    """

    seconds: float
    computing: float
    communication: float
    input: float
    idle: float


def shares(trace: Trace) -> dict[int, Shares]:
    """What share of each rank's steps was computing, communication, input, and idle.

    The steps are the events of kind "step" (torch.profiler's "ProfilerStep"); without any, all of
    the trace. Computing is what the compute lane says, with one exception. torch.profiler knows
    more than its marks: a rank that waits for an all-reduce at the end of a marked backward does
    not compute. So on a GPU the kernels count; on a processor a mark does not count while a
    collective goes on and no operator runs. An operator inside of an input belongs to the input.
    """
    found = {}
    for rank, events in trace.by_rank().items():
        window = union(_steps(events)) or [(trace.start, trace.end)]
        communication = union(e for e in events if e.lane == "communication" or e.kind == "wait")
        reading = union(e for e in events if e.lane == "input")
        free, seconds = window, []
        for taken in (_computing(events, communication, reading), communication, reading):
            rest = without(free, taken)
            seconds.append(length(free) - length(rest))
            free = rest
        whole = length(window)
        parts = [s / whole if whole else 0.0 for s in (*seconds, length(free))]
        found[rank] = Shares(whole, *parts)
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


def _steps(events: list[Event]) -> list[Event]:
    return [e for e in events if e.kind == "step"]


def in_lanes(trace: Trace) -> Trace:
    """The same trace to look at: its steps only, and of these the three lanes that tell the story.

    Operators, kernels and Python functions are left out, and so is what lies inside an event of
    its own kind ("Optimizer.step" in a marked update). Where a mark does not count as computing
    (see `shares`), it has a hole, if that is long enough to be seen.
    """
    steps = _steps(trace.events)
    if steps:
        trace = trace.between(min(e.start for e in steps), max(e.end for e in steps))
    kept: list[Event] = []
    for events in trace.by_rank().values():
        holes = _holes(events, SEEN * trace.duration)
        ends: dict[tuple[str, str], float] = {}  # of each kind: where the last one kept ends
        for event in events:
            key = event.lane, event.kind
            if event.lane in LANES and event.end > ends.get(key, float("-inf")):
                ends[key] = event.end
                free = [(event.start, event.end)]
                pieces = without(free, holes) if is_work(event) else free
                kept += [replace(event, start=start, end=end) for start, end in pieces]
    return Trace(sorted(kept, key=lambda e: e.start), dict(trace.meta), list(trace.counters))


def _holes(events: list[Event], shortest: float) -> list[Interval]:
    """Where a rank communicates and does nothing else, at least for `shortest` seconds."""
    communication = union(e for e in events if e.lane == "communication")
    reading = union(e for e in events if e.lane == "input")
    found = without(communication, _computing(events, communication, reading))
    return [(start, end) for start, end in found if end - start >= shortest]
