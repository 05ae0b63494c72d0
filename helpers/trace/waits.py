"""Split "in the all-reduce" into waiting for the others and the transfer itself.

A rank that comes early to a collective is inside it, and does nothing: the time counts as
communication, and no faster network would save any of it. The traces of all ranks together show
where the waiting ended: when the last rank arrived.
"""

from dataclasses import replace

from helpers.trace.events import Event, Trace
from helpers.trace.match import collectives, messages


def with_waits(trace: Trace) -> Trace:
    """The same trace with every matched collective, send and recv split in two.

    First a "wait" (its `name`: what for; `info["until"]`: the rank that came last), then the
    transfer under its own kind. A rank cannot have waited for one that came after it had left:
    of those that came before, the last one counts. What finds no partner stays as it is, and so
    does a trace that has its waits already.
    """
    if any(e.kind == "wait" for e in trace.events):
        return trace
    last: dict[int, Event] = {}  # by the event's identity: the partner that it waited for
    for together in [*collectives(trace), *messages(trace)]:
        for event in together:
            in_time = [e for e in together if event.start < e.start and _in_time(e, event)]
            if in_time:
                last[id(event)] = max(in_time, key=lambda e: e.start)

    events = []
    for event in trace.events:
        partner = last.get(id(event))
        if partner is None:
            events.append(event)
            continue
        info = {**event.info, "until": partner.rank}
        events.append(
            replace(event, kind="wait", name=event.kind, end=partner.start, info=info),
        )
        events.append(replace(event, start=partner.start))
    return Trace(events, dict(trace.meta), list(trace.counters))


def _in_time(other: Event, event: Event) -> bool:
    """Whether `event` can have waited for `other` to start.

    A receive ends at the very moment the send starts where messages cost nothing; a send that ends
    as the receive starts was a send that waited for nobody.
    """
    return other.start < event.end or (other.start == event.end and event.kind != "send")
