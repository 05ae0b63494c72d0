"""What happens in a simulated step: as columns, and as the events of a trace."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from helpers.schedules import Action, Schedule, Times, pair_text, tag_of
from helpers.simulate.causes import Idle
from helpers.simulate.costs import Costs, links_of
from helpers.trace import Event


@dataclass(frozen=True)
class Columns:
    """Events with the same facts: each column has an entry for each event.

    A picture that follows a slider is made of these, for thousands of `Event`s take five times as
    long as the simulation.

    rank, kind, start, end: as in `Event`. facts: its `info`; None where an event lacks one.
    """

    rank: Sequence[int]
    kind: Sequence[str]
    start: Sequence[float]
    end: Sequence[float]
    facts: dict[str, Sequence]

    def events(self) -> Iterator[Event]:
        """Yield them one by one; a wait has the name of its cause."""
        rows = zip(self.rank, self.kind, self.start, self.end, strict=True)
        for n, row in enumerate(rows):
            info = {key: values[n] for key, values in self.facts.items() if values[n] is not None}
            yield Event(*row, name=info.get("cause", ""), info=info)


def actions_and_messages(schedule: Schedule, costs: Costs, times: Times) -> Iterator[Columns]:
    """Yield the actions, rank by rank; then both ends of the messages, link by link."""
    for rank, actions in enumerate(schedule.ranks):
        if actions:
            kinds, stages, micro_batches = zip(*actions, strict=True)
            facts = {"stage": stages, "micro_batch": micro_batches}
            if schedule.pairs[rank]:
                facts["pair"] = [None] * len(actions)
            for at in schedule.pairs[rank]:
                facts["pair"][at : at + 2] = [pair_text(schedule.turn_at(rank, at))] * 2
            own = times.starts[rank], times.ends[rank]
            yield Columns([rank] * len(actions), kinds, *own, facts)
    for back in (False, True):
        for source, link in enumerate(links_of(schedule, costs, forward=not back)):
            if link is not None:
                yield from _messages(schedule, costs, times, back, source, link)


def _messages(
    schedule: Schedule, costs: Costs, times: Times, back: bool, source: int, link: tuple
) -> Iterator[Columns]:
    """Yield both ends of the messages with a stage's results, from leaving until arriving."""
    (sender, receiver), latency, transfer = link
    target, first = source - 1 if back else source + 1, source * schedule.micro_batches
    given, arrived = times.given[back], times.arrived[back]
    sent = [i for i in range(schedule.micro_batches) if arrived[first + i] >= 0]
    end = [arrived[first + i] for i in sent]
    # Later than it is computed where the message before it was still leaving.
    start = [
        max(given[first + i], t - (transfer + latency)) for i, t in zip(sent, end, strict=True)
    ]
    size, many = int(costs.message_bytes[min(source, target)]), len(sent)
    tags = [tag_of(schedule, Action("FB"[back], target, i)) for i in sent]
    for rank, kind, stage, peer in (
        (sender, "send", source, receiver),
        (receiver, "recv", target, sender),
    ):
        facts = {"stage": [stage] * many, "peer": [peer] * many}
        facts |= {"micro_batch": sent, "tag": tags, "bytes": [size] * many}
        yield Columns([rank] * many, [kind] * many, start, end, facts)


def waits(idle: Sequence[Idle]) -> Iterator[Columns]:
    """Yield the idle times, those before an action first; an all-reduce is an event itself."""
    for before in (True, False):
        some = [each for each in idle if (each.action is not None) is before]
        some = [each for each in some if each.cause != "all-reduce"]
        if some:
            ranks, starts, ends, causes, actions, until = zip(*some, strict=True)
            facts = {"cause": causes}
            if before:
                facts["stage"] = [action.stage for action in actions]
                facts["micro_batch"] = [action.micro_batch for action in actions]
                facts |= {"for": list(map(str, actions)), "until": until}
            yield Columns(ranks, ["wait"] * len(some), starts, ends, facts)


def in_order(event: Event) -> tuple[float, int, float, bool]:
    """Return what the events of a trace are sorted by: time and rank.

    At one moment what closes a step comes first, then what the ranks have computed, in their order
    (a message belongs to its sender, and leaves before the next action), and a wait last.
    """
    by = event.info["peer"] if event.kind == "recv" else event.rank
    by = {"all-reduce": -1, "update": -1, "wait": math.inf}.get(event.kind, by)
    return event.start, event.rank, by, event.kind != "send"
