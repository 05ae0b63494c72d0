"""Two small traces with round times, to try tools and pictures on without running anything."""

from helpers.trace.events import Counter, Event, Trace

MS = 1e-3


def data_parallel(steps: int = 2) -> Trace:
    """Three ranks that average their gradients; the others wait for rank 2. A step on rank 0: input
    2 ms, forward 10, backward 20; from when the last rank has come an all-reduce 6, update 3."""
    events = []
    clock = 0.0
    for step in range(steps):
        arrivals = []
        for rank, slow in enumerate((1.0, 1.1, 1.4)):
            t = clock
            for kind, ms in (("input", 2), ("F", 10 * slow), ("B", 20 * slow)):
                facts = {"step": step} | ({"tokens": 512} if kind == "F" else {})
                events.append(Event(rank, kind, t, t + ms * MS, info=facts))
                t += ms * MS
            arrivals.append(t)
        done = max(arrivals) + 6 * MS
        for rank, arrival in enumerate(arrivals):
            facts = {"step": step, "bytes": 4_000_000}
            events.append(Event(rank, "all-reduce", arrival, done, info=facts))
            events.append(Event(rank, "update", done, done + 3 * MS, info={"step": step}))
        clock = done + 3 * MS
    return Trace(events, {"title": "data parallel, 3 ranks"}).merged()


def pipeline(stages: int = 4, micro_batches: int = 6, message: float = 1 * MS) -> Trace:
    """GPipe: forwards of 10 ms, then backwards of 20, `message` seconds apart. A rank that has
    nothing to compute stands in its recv. A forward keeps 100 MB until its backward."""
    work = [("F", m) for m in range(micro_batches)] + [("B", m) for m in range(micro_batches)]
    events, counters = [], []
    free = [0.0] * stages
    sent: dict[tuple[int, str, int], float] = {}  # (receiver, kind, micro-batch): when it left
    memory = [0] * stages
    for kind, m in work:
        order = range(stages) if kind == "F" else reversed(range(stages))
        for rank in order:
            facts = {"stage": rank, "micro_batch": m}
            tag = m if kind == "F" else micro_batches + m
            source, target = (rank - 1, rank + 1) if kind == "F" else (rank + 1, rank - 1)
            t = free[rank]
            if (rank, kind, m) in sent:
                arrived = max(t, sent[rank, kind, m]) + message
                more = {"peer": source, "tag": tag}
                events.append(Event(rank, "recv", t, arrived, info=facts | more))
                t = arrived
            end = t + (10 if kind == "F" else 20) * MS
            events.append(Event(rank, kind, t, end, info=facts))
            memory[rank] += 100_000_000 if kind == "F" else -100_000_000
            counters.append(Counter(rank, "memory", t if kind == "F" else end, memory[rank]))
            free[rank] = end
            if 0 <= target < stages:
                more = {"peer": target, "tag": tag}
                events.append(Event(rank, "send", end, end + message, info=facts | more))
                sent[target, kind, m] = end
    for rank, t in enumerate(free):
        events.append(Event(rank, "update", t, t + 5 * MS, info={"stage": rank}))
    title = f"GPipe, {stages} stages, {micro_batches} micro-batches"
    return Trace(events, {"title": title, "schedule": "GPipe"}, counters).merged()
