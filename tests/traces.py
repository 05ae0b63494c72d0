"""Two small traces with round times, as if they were recorded."""

from helpers.trace import Counter, Event, Trace

MS = 1e-3


def data_parallel(steps=2):
    """Three ranks that average their gradients; the others wait for rank 2. A step on rank 0: input
    2 ms, forward 10, backward 20; from when the last rank has come an all-reduce 6, update 3."""
    events, clock = [], 0.0
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
        clock = done + 3 * MS
        for rank, arrival in enumerate(arrivals):
            facts = {"step": step, "bytes": 4_000_000}
            events.append(Event(rank, "all-reduce", arrival, done, info=facts))
            events.append(Event(rank, "update", done, clock, info={"step": step}))
    return Trace(events, {"title": "data parallel, 3 ranks"}).merged()


def pipeline(stages=4, micro_batches=6, message=1 * MS):
    """GPipe: forwards of 10 ms, then backwards of 20, `message` seconds apart. A rank that has
    nothing to compute stands in its recv. A forward keeps 100 MB until its backward."""
    events, counters, free, memory, sent = [], [], [0.0] * stages, [0] * stages, {}
    for kind, m in [(kind, m) for kind in "FB" for m in range(micro_batches)]:
        way = 1 if kind == "F" else -1
        for rank in range(stages)[::way]:
            facts = {"stage": rank, "micro_batch": m}
            tag, t = m if kind == "F" else micro_batches + m, free[rank]
            if (rank, kind, m) in sent:
                arrived = max(t, sent[rank, kind, m]) + message
                more = {"peer": rank - way, "tag": tag}
                events.append(Event(rank, "recv", t, arrived, info=facts | more))
                t = arrived
            end = free[rank] = t + (10 if kind == "F" else 20) * MS
            events.append(Event(rank, kind, t, end, info=facts))
            memory[rank] += way * 100_000_000
            counters.append(Counter(rank, "memory", t if kind == "F" else end, memory[rank]))
            if 0 <= rank + way < stages:
                more = {"peer": rank + way, "tag": tag}
                events.append(Event(rank, "send", end, end + message, info=facts | more))
                sent[rank + way, kind, m] = end
    events += [
        Event(rank, "update", t, t + 5 * MS, info={"stage": rank}) for rank, t in enumerate(free)
    ]
    title = f"GPipe, {stages} stages, {micro_batches} micro-batches"
    return Trace(events, {"title": title, "schedule": "GPipe"}, counters).merged()
