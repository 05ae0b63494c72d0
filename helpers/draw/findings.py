"""What traces show, in words: the titles of pictures, and their alternative text."""

from dataclasses import dataclass, field

from helpers.trace import Trace, communicating, idle_by_cause, peak, with_waits
from helpers.words import listed, percent, significant, time_text

# The counters that are drawn as memory: bytes, or numbers where a simulation counts no bytes.
MEMORY = ("memory", "memory (elements)")


def memory_name(trace: Trace) -> str:
    """Return the counter that holds the memory of this trace."""
    return next((name for name in MEMORY[::-1] if peak(trace, name)), MEMORY[0])


@dataclass(slots=True)
class TraceSummary:
    """A trace from time zero, with its waits, and what is measured of it.

    duration: seconds. causes: seconds of idle time of each rank, by cause.
    """

    name: str
    trace: Trace
    duration: float = field(init=False)
    causes: dict[int, dict[str, float]] = field(init=False)

    def __post_init__(self):
        self.trace = with_waits(self.trace.from_zero())
        self.duration = self.trace.duration
        self.causes = idle_by_cause(self.trace)

    def time(self, amount: float) -> str:
        """Return a time of this trace in words; its `meta["unit"]` may be another than seconds."""
        unit = self.trace.meta.get("unit", "s")
        return time_text(amount) if unit == "s" else f"{significant(amount)} {unit}"

    def busy(self, rank: int) -> float:
        """Return the share of the time in which a rank computed, 0 to 1."""
        return 1 - sum(self.causes[rank].values()) / self.duration if self.duration else 0.0

    def waits(self, rank: int) -> float:
        """Return the share of the time in which a rank waited and did not compute, 0 to 1."""
        return self.causes[rank]["wait"] / self.duration if self.duration else 0.0


def comparable(parts: list[TraceSummary]) -> list[TraceSummary]:
    """Return the traces, without memory unless every one of them has counted it."""
    names = {memory_name(part.trace) for part in parts}
    if len(names) > 1 or not all(
        max(peak(part.trace, *names).values(), default=0) > 0 for part in parts
    ):
        for part in parts:
            trace = part.trace
            counters = [c for c in trace.counters if c.name not in MEMORY]
            part.trace = Trace(trace.events, trace.meta, counters)
    return parts


def found(trace: Trace) -> str:
    """Say what a trace shows, in one line: "3 ranks, 120 ms: 34 % of the time waiting".

    If the trace has a `meta["title"]`, it replaces the number of ranks. If collectives take time,
    the line says what share of it the ranks were busy, waiting and communicating.
    """
    return found_in(TraceSummary("", trace))


def found_in(part: TraceSummary) -> str:
    """Say the same about a trace that has been measured already."""
    ranks, title = list(part.causes), str(part.trace.meta.get("title", "")).strip()
    words = title or f"{len(ranks)} rank{'' if len(ranks) == 1 else 's'}"
    count = len(part.trace.events)
    if not count:
        return f"{title}: no events" if title else "no events"
    if not part.duration:
        return f"{words}: {count} event{'' if count == 1 else 's'} at one moment"
    waits = sum(map(part.waits, ranks)) / len(ranks)
    idle = 1 - sum(map(part.busy, ranks)) / len(ranks)
    talks = sum(communicating(part.trace).values()) / len(ranks) / part.duration
    if talks >= 0.005:
        shares = {"busy": 1 - idle, "waiting": waits, "communicating": talks}
        share = listed(f"{word} {percent(s)}" for word, s in shares.items() if s >= 0.005)
    elif waits >= 0.005:
        share = f"{percent(waits)} of the time waiting"
    else:
        share = f"{percent(idle)} of the time idle" if idle >= 0.005 else "busy all the time"
    return f"{words}, {part.time(part.duration)}: {share}"


def compared(parts: list[TraceSummary]) -> str:
    """Say how long each took: the default title of several traces."""
    first, second = parts[0], parts[1]
    times = [part.time(part.duration) for part in parts]
    if len(parts) > 2 or not first.duration:
        return listed(f"{p.name} {t}" for p, t in zip(parts, times, strict=True))
    change = second.duration / first.duration - 1
    name = second.name[:1].upper() + second.name[1:]
    if abs(change) < 0.005:
        return f"{name} and {first.name} take the same time, {times[0]}"
    longer = "longer" if change > 0 else "less"
    return (
        f"{name} takes {percent(abs(change))} {longer} than {first.name}: "
        f"{times[1]} against {times[0]}"
    )


def in_words(title: str, parts: list[TraceSummary]) -> str:
    """Return the alternative text of a timeline."""
    sentences = [f"Timeline. {title}."]
    for part in parts:
        if not part.duration or len(part.causes) > 8:
            continue
        rows = []
        for rank in part.causes:
            row = f"rank {rank} computes {percent(part.busy(rank))}"
            rows.append(row + (f" and waits {percent(w)}" if (w := part.waits(rank)) else ""))
        start = f"{part.name}: of" if part.name else "Of"
        sentences.append(f"{start} {part.time(part.duration)}, {listed(rows)}.")
    return " ".join(sentences)
