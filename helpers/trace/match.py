"""Which event on one rank belongs to which on another, and who waits for whom.

Ranks don't number their messages. But a channel keeps its order (the third send to a peer with a
tag is the third receive there), and so do the collectives of a group, so counting is enough. A rank
that comes early is inside a call and does nothing, which no faster network would change. The traces
of all ranks together show where the waiting ended: when the last rank arrived.
"""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import chain

from helpers.trace.events import COLLECTIVES, Event, Trace


def matched_messages(trace: Trace) -> list[tuple[Event, Event]]:
    """Return each send with its receive, in the order the sends start: by `info["peer"]`,
    `info["tag"]` and their order. What has no partner in the trace is left out."""
    sends, receives = defaultdict(list), defaultdict(list)
    for e in sorted(trace.events, key=lambda e: e.start):
        if e.kind == "send" and "peer" in e.info:
            sends[e.rank, e.info["peer"], e.info.get("tag", 0)].append(e)
        elif e.kind == "recv" and "peer" in e.info:
            receives[e.info["peer"], e.rank, e.info.get("tag", 0)].append(e)
    pairs = (zip(sent, receives[channel], strict=False) for channel, sent in sends.items())
    return sorted(chain.from_iterable(pairs), key=lambda pair: pair[0].start)


def matched_collectives(trace: Trace) -> list[list[Event]]:
    """Return the events of each collective, one for each rank in it, in the order they start: by
    kind, `info["group"]` (absent: all ranks) and their order."""
    calls: dict[tuple, list[Event]] = defaultdict(list)
    occurred = Counter()
    for e in sorted(trace.events, key=lambda e: e.start):
        if e.kind in COLLECTIVES:
            group = e.info.get("group")
            group = tuple(group) if isinstance(group, (list, tuple)) else group
            number = occurred[e.rank, e.kind, group]
            occurred[e.rank, e.kind, group] += 1
            calls[e.kind, group, number].append(e)
    return list(calls.values())


def with_waits(trace: Trace) -> Trace:
    """Return the trace with its waiting as events of its own.

    Every matched collective, send and recv is split in two. First a "wait" (its `name`: what for;
    `info["until"]`: the rank that came last), then the transfer under its own kind. A rank can't
    have waited for one that came after it had left: of those that came before, the last one counts.

    In a pipeline the waits are those of a simulated step: for the message that an action needs
    (`info["for"]`), with the cause "dependency" until it is sent and "message" while it is in
    transit; and "finished" for a rank that stops before the others.

    What finds no partner stays as it is, and so does a trace that has its waits already.
    """
    if any(e.kind == "wait" for e in trace.events):
        return trace
    last: dict[int, Event] = {}  # by the event's identity: the partner that it waited for
    for together in [*matched_collectives(trace), *matched_messages(trace)]:
        for event in together:
            in_time = [e for e in together if event.start < e.start and _in_time(e, event)]
            if in_time:
                last[id(event)] = max(in_time, key=lambda e: e.start)

    events, rows = [], trace.by_rank()
    needing = _needing(rows)
    for event in trace.events:
        partner = last.get(id(event))
        sent = event.start if partner is None else partner.start
        if partner is not None:
            info = {**event.info, "until": partner.rank}
            if id(event) in needing:
                info = needing[id(event)] | {"cause": "dependency"}
            events.append(replace(event, kind="wait", name=event.kind, end=sent, info=info))
        events.append(event if partner is None else replace(event, start=sent))
        if id(event) in needing and sent < event.end:
            info = needing[id(event)] | {"cause": "message"}
            events.append(replace(event, kind="wait", name="message", start=sent, info=info))
    end = trace.end
    for rank, row in rows.items():
        stops = max((e.end for e in row), default=end)
        if stops < end and any(map(_is_action, row)):
            info = {"cause": "finished"}
            events.append(Event(rank, "wait", stops, end, "communication", "finished", info))
    return Trace(events, dict(trace.meta), list(trace.counters))


def _needing(rows: dict[int, list[Event]]) -> dict[int, dict]:
    """For each recv of a pipeline, by its identity, the facts of its waits: the action that needs
    the message is the next of its stage and micro-batch on that rank."""
    found: dict[int, dict] = {}
    for row in rows.values():
        following: dict[tuple, str] = {}
        for event in reversed(row):
            stage, micro_batch = event.info.get("stage"), event.info.get("micro_batch")
            action = following.get((stage, micro_batch))
            if _is_action(event):
                following[stage, micro_batch] = f"{stage}{event.kind}{micro_batch}"
            elif event.kind == "recv" and action and "peer" in event.info:
                facts = {"stage": stage, "micro_batch": micro_batch}
                found[id(event)] = facts | {"for": action, "until": event.info["peer"]}
    return found


def _is_action(event: Event) -> bool:
    """Return whether the event is an action of a pipeline, with its stage and its micro-batch."""
    return event.kind in ("F", "B", "I", "W") and {"stage", "micro_batch"} <= event.info.keys()


def _in_time(other: Event, event: Event) -> bool:
    """Return whether `event` can have waited for `other` to start: a receive ends at that very
    moment where messages cost nothing; a send that ends then was one that didn't wait."""
    return other.start < event.end or (other.start == event.end and event.kind != "send")
