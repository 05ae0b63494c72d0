"""What traces show, in words: the titles of pictures, and their alternative text."""

from helpers.trace import Trace, idle_by_cause, with_waits
from helpers.words import listed, many, percent, significant, time_text

WORDS = {  # of `idle_by_cause`
    "wait": "waiting",
    "communication": "communicating",
    "input": "reading input",
    "finished": "finished",
    "nothing": "idle",
}


class TraceSummary:
    """A trace from time zero, with its waits, and what is measured of it.

    duration: in seconds. causes: of idle time, {rank: {cause: seconds}}.
    """

    def __init__(self, name: str, trace: Trace):
        self.name, self.trace = name, with_waits(trace.from_zero())
        self.duration, self.causes = self.trace.duration, idle_by_cause(self.trace)

    def time(self, amount: float) -> str:
        """Return a time of this trace in words; its `meta["unit"]` may be another than seconds."""
        unit = self.trace.meta.get("unit", "s")
        return time_text(amount) if unit == "s" else f"{significant(amount)} {unit}"

    def busy(self, rank: int) -> float:
        """Return the share of the time in which a rank computed, 0 to 1."""
        return 1 - sum(self.causes[rank].values()) / self.duration if self.duration else 0.0


def found_in(part: TraceSummary) -> str:
    """Say what a trace shows, in one line: "3 ranks, 120 ms: busy 60 %, waiting 34 %, idle 6 %".

    If the trace has a `meta["title"]`, it replaces the number of ranks.
    """
    ranks, title = list(part.causes), str(part.trace.meta.get("title", "")).strip()
    words = title or many(len(ranks), "rank")
    count = len(part.trace.events)
    if not count:
        return f"{title}: no events" if title else "no events"
    if not part.duration:
        return f"{words}: {many(count, 'event')} at one moment"
    shares = {"busy": sum(map(part.busy, ranks)) / len(ranks)}
    for cause, word in WORDS.items():
        shares[word] = sum(part.causes[rank][cause] for rank in ranks) / len(ranks) / part.duration
    spoken = [f"{word} {percent(share)}" for word, share in shares.items() if share >= 0.005]
    spoken = ["busy all the time"] if shares["busy"] > 0.995 else spoken
    return f"{words}, {part.time(part.duration)}: {', '.join(spoken)}"


def compared(parts: list[TraceSummary]) -> str:
    """Say how long each took: the line over several traces."""
    return listed(f"{part.name} {part.time(part.duration)}" for part in parts)


def in_words(title: str, parts: list[TraceSummary]) -> str:
    sentences = [f"Timeline. {title}."]
    for part in parts:
        if not part.duration or len(part.causes) > 8:
            continue
        rows = []
        for rank, causes in part.causes.items():
            computes, waits = percent(part.busy(rank)), percent(causes["wait"] / part.duration)
            more = f" and waits {waits}" if causes["wait"] else ""
            rows.append(f"rank {rank} computes {computes}{more}")
        start = f"{part.name}: of" if part.name else "Of"
        sentences.append(f"{start} {part.time(part.duration)}, {listed(rows)}.")
    return " ".join(sentences)
