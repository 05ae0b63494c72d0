"""What happens in a simulated step, as the events of a trace."""

import math
from collections.abc import Iterable, Iterator

from helpers.schedules import Action, Schedule, Times, facts_of, tag_of
from helpers.simulate.causes import Idle
from helpers.simulate.costs import Costs, links_of
from helpers.trace import Event


def action_events(schedule: Schedule, times: Times) -> Iterator[Event]:
    for rank in range(schedule.size):
        for first, turn in schedule.turns(rank):
            for position, action in enumerate(turn, first):
                span = times.starts[rank][position], times.ends[rank][position]
                yield Event(rank, action.kind, *span, info=facts_of(action, turn))


def message_events(schedule: Schedule, costs: Costs, times: Times) -> Iterator[Event]:
    """Yield both ends of each message, from leaving until arriving."""
    m = schedule.micro_batches
    for back in (False, True):
        for source, link in enumerate(links_of(schedule, costs, forward=not back)):
            if link is None:
                continue
            (sender, receiver), latency, transfer = link
            target = source - 1 if back else source + 1
            for i in range(m):
                end = times.arrived[back][source * m + i]
                if end < 0:  # never: of a plan that isn't complete
                    continue
                # Later than it is computed where the message before it was still leaving.
                start = max(times.given[back][source * m + i], end - (transfer + latency))
                tag = tag_of(schedule, Action("FB"[back], target, i))
                facts = {"micro_batch": i, "tag": tag}
                facts["bytes"] = int(costs.message_bytes[min(source, target)])
                sent = {"stage": source, "peer": receiver} | facts
                got = {"stage": target, "peer": sender} | facts
                yield Event(sender, "send", start, end, info=sent)
                yield Event(receiver, "recv", start, end, info=got)


def wait_events(idle: Iterable[Idle]) -> Iterator[Event]:
    """Yield the idle times, each under the name of its cause; an all-reduce is an event itself."""
    for rank, start, end, cause, action, until in idle:
        if cause != "all-reduce":
            info = {"cause": cause}
            if action is not None:
                info |= facts_of(action, [action]) | {"for": str(action), "until": until}
            yield Event(rank, "wait", start, end, name=cause, info=info)


def in_order(event: Event) -> tuple[float, int, float, bool]:
    """Return what the events of a trace are sorted by: time and rank.

    At one moment what closes a step comes first, then what the ranks have computed, in their order
    (a message belongs to its sender, and leaves before the next action), and a wait last.
    """
    by = event.info["peer"] if event.kind == "recv" else event.rank
    by = {"all-reduce": -1, "update": -1, "wait": math.inf}.get(event.kind, by)
    return event.start, event.rank, by, event.kind != "send"
