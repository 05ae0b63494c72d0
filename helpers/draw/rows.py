"""What stands where in a timeline, in the picture and on the page: rows, labels, arrows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite

from helpers.draw.findings import TraceSummary, found_in
from helpers.draw.style import LOOKS, look
from helpers.trace import COLLECTIVES, LANES, Event, Trace, has_finished, matched_messages, peak
from helpers.trace.measure import length, union, without
from helpers.words import bytes_text, percent

# Up to so many ranks: the pixels of a lane of work, of another lane, and between two ranks.
SIZES = ((12, 26, 13, 9), (24, 18, 10, 5), (100, 8, 4, 2), (256, 3, 1.5, 0.5))
MOST_RANKS, MOST_LANES, MOST_ARROWS = SIZES[-1][0], 4, 80
MEMORY = ("memory (elements)", "memory")
BETWEEN = 18  # pixels between two ranks where arrows need room


@dataclass
class Row:
    """A lane of a rank, its memory, or the name of a trace, which has no lane."""

    rank: int
    lane: str
    top: float  # pixels
    high: float
    left: str = ""  # what is written beside it
    right: str = ""
    events: list[Event] = field(default_factory=list)  # in the order they start
    steps: list[tuple[float, float]] = field(default_factory=list)  # of memory: (s, share of peak)


def summarized(call: str, traces: Mapping[str, Trace], events: float = inf) -> list[TraceSummary]:
    """Return the traces, each from its own first event on, with waits from all ranks' events.
    Raises ValueError without a trace, or with more ranks, or more `events`, than can be drawn."""
    if not traces:
        raise ValueError(f"{call}() needs at least one trace: {call}({{'measured': trace}})")
    some = "look at some steps with last_steps(trace, 2)"
    few = "keep some of them with Trace([e for e in trace.events if e.rank < 64])"
    for count, what, most, cure in (
        (sum(len(trace.events) for trace in traces.values()), "events", events, some),
        (max(len(trace.ranks) for trace in traces.values()), "ranks", MOST_RANKS, few),
    ):
        if count > most:
            raise ValueError(
                f"{count:,} {what} are too many to draw, and {most:,} are the most: {cure}, or "
                "trace.save('run.json.gz') and open that in https://ui.perfetto.dev"
            )
    return [TraceSummary(name, trace) for name, trace in traces.items()]


def laid_out(parts: Sequence[TraceSummary]) -> list[list[Row]]:
    rows, y = [], 4.0
    ranks = max(len(part.trace.ranks) for part in parts)
    tall, low, apart = next(sizes for most, *sizes in SIZES if ranks <= most)
    counter = _counter_of_all(parts) if ranks <= 24 else ""
    for part in parts:
        mine, memory = [], _memory(part.trace, counter)
        if part.name:
            found = found_in(part)
            words = found if found.startswith(part.name) else f"{part.name}: {found}"
            mine.append(Row(-1, "", y, 20, words))
            y += 26
        by_rank = part.trace.by_rank() or {0: []}
        turns = not any(map(_reads_meanwhile, by_rank.values()))
        used = {"compute", *(_lane(e, turns) for e in part.trace.events if e.duration)}
        drawn = [lane for lane in LANES if lane in used] + sorted(used - set(LANES))
        between = BETWEEN if tall > 18 and messages(part.trace) else apart
        for rank, events in by_rank.items():
            for lane in drawn[:MOST_LANES]:
                row = Row(rank, lane, y, tall if lane == "compute" else low)
                row.events = [e for e in events if _lane(e, turns) == lane]
                if lane == "compute" and part.causes:
                    row.left, row.right = f"rank {rank}", f"busy {percent(part.busy(rank))}"
                elif lane not in LANES:
                    row.left = lane
                mine.append(row)
                y += row.high + (row.high > 3)
            if rank in memory:
                steps, words = memory[rank]
                mine.append(Row(rank, "memory", y + 1, 22, "memory", words, steps=steps))
                y += 24
            y += between
        y += 4 if between == BETWEEN else 12
        rows.append(mine)
    return rows


def _lane(e: Event, turns: bool) -> str:
    """Return the lane of an event: a wait lies behind the work, because it says why there's none.

    turns: whether ranks read input in turn with computing; then it needs no lane of its own.
    """
    return "compute" if e.kind == "wait" or (turns and e.lane == "input") else e.lane


def _reads_meanwhile(events: list[Event]) -> bool:
    read = union(e for e in events if e.lane == "input")
    work = union(e for e in events if e.lane == "compute" and e.kind != "wait")
    return length(without(read, work)) < length(read) - 1e-9


def _counter_of_all(parts: Sequence[TraceSummary]) -> str:
    """Return the counter of memory that every trace has: bytes, or numbers of a simulation."""
    names = (n for n in MEMORY if all(any(peak(p.trace, n).values()) for p in parts))
    return next(names, "")


def _memory(trace: Trace, counter: str) -> dict[int, tuple[list[tuple[float, float]], str]]:
    """Return for each rank its memory over time, as a share of the highest peak, and its peak."""
    found, peaks = {}, peak(trace, counter)
    highest = max(filter(isfinite, peaks.values()), default=0)
    for rank, most in peaks.items() if highest > 0 else ():
        counts = [c for c in trace.counters if (c.rank, c.name) == (rank, counter)]
        steps = [(c.time, max(c.value, 0) / highest) for c in counts if isfinite(c.value)]
        words = bytes_text(most) if counter == "memory" else f"{most / 1e6:.3g} M"
        found[rank] = steps, f"peak {words}"
    return found


def messages(trace: Trace) -> list[tuple[Event, Event]]:
    """Return the (sent, received) messages of a trace, or none if they are too many to draw."""
    found = matched_messages(trace)
    return found if len(found) <= MOST_ARROWS else []


def pairs(row: Row) -> list[tuple[float, float]]:
    """Return the (start, end) of each pair of actions that ran as one, such as F&B."""
    spans: dict[object, list[Event]] = {}
    for e in row.events:
        if "pair" in e.info:
            spans.setdefault(e.info["pair"], []).append(e)
    return [(min(e.start for e in both), max(e.end for e in both)) for both in spans.values()]


def arrow_ends(trace: Trace, rows: Sequence[Row]) -> list[tuple[float, float, float, float]]:
    """Return each message as (seconds, y) twice, from the sender's lanes to the receiver's."""
    tops = {row.rank: row.top for row in rows if row.lane == "compute"}
    ends = {row.rank: row.top + row.high for row in rows if row.lane in LANES}
    found = []
    for sent, got in messages(trace):
        leave, reach = (ends, tops) if tops[got.rank] > tops[sent.rank] else (tops, ends)
        found.append((sent.start, leave[sent.rank], got.end, reach[got.rank]))
    return found


def kind_of(e: Event) -> str:
    return "finished" if has_finished(e) else e.kind


def shades(events: Sequence[Event]) -> dict[int, float]:
    """Return how strong the color of each stage of a rank is: its later stages are paler."""
    stages = sorted({e.info["stage"] for e in events if e.kind in "FBIW" and "stage" in e.info})
    return {s: 1 - 0.55 * n / max(len(stages) - 1, 1) for n, s in enumerate(stages)}


def labels(e: Event) -> list[str]:
    """Return what may stand in an event's box, the best first.

    An event that knows its layer says so: "F0 L2" is forward of micro-batch 0 through layer 2.
    """
    if e.kind == "wait":
        until = e.info.get("until")
        why = "memory" if e.info.get("cause") == "memory" else f"rank {until}"
        return ["waits"] if why == "rank None" else [f"waits for {why}", "waits"]
    letter, known = look(e.kind).letter, e.kind in LOOKS or e.kind in COLLECTIVES
    plain = [e.kind if known else e.name or e.kind, letter]
    if e.kind in "FBIW":
        plain = [letter + str(e.info.get("micro_batch", "")), letter]
    return [f"{plain[0]} L{e.info['layer']}", *plain] if "layer" in e.info else plain
