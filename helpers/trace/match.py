"""Which event on one rank belongs to which on another.

Ranks do not number their messages. But a message channel keeps its order (the third send to a
peer with a tag is the third receive there), and so do the collectives of a group (the third
all-reduce of one rank is the third of all). Counting is enough.
"""

from collections import defaultdict, deque

from helpers.trace.events import COLLECTIVES, Event, Trace


def messages(trace: Trace) -> list[tuple[Event, Event]]:
    """Each send with its receive, in the order the sends start.

    Matched by sender, receiver (`info["peer"]`), `info["tag"]` and their order. What has no
    partner in the trace is left out.
    """
    sends: dict[tuple, deque[Event]] = defaultdict(deque)
    receives: dict[tuple, deque[Event]] = defaultdict(deque)
    for e in sorted(trace.events, key=lambda e: e.start):
        if e.kind == "send" and "peer" in e.info:
            sends[e.rank, e.info["peer"], e.info.get("tag", 0)].append(e)
        elif e.kind == "recv" and "peer" in e.info:
            receives[e.info["peer"], e.rank, e.info.get("tag", 0)].append(e)
    pairs = [
        pair
        for channel, sent in sends.items()
        for pair in zip(sent, receives.get(channel, ()), strict=False)
    ]
    return sorted(pairs, key=lambda pair: pair[0].start)


def collectives(trace: Trace) -> list[list[Event]]:
    """The events of each collective, one of each rank that took part, in the order they start.

    Matched by kind, group (`info["group"]`: a list of ranks; absent: all) and their order.
    """
    calls: dict[tuple, list[Event]] = {}
    occurred: dict[tuple, int] = defaultdict(int)
    for e in sorted(trace.events, key=lambda e: e.start):
        if e.kind in COLLECTIVES:
            group = e.info.get("group")
            group = tuple(group) if isinstance(group, (list, tuple)) else group
            number = occurred[e.rank, e.kind, group]
            occurred[e.rank, e.kind, group] += 1
            calls.setdefault((e.kind, group, number), []).append(e)
    return list(calls.values())
