"""The table of a simulated step, made without its events.

A slider must be answered while the hand still moves. To build thousands of `Event`s and take them
apart again would take longer than the simulation. A test holds that both ways give one table.
"""

from collections.abc import Sequence

import numpy as np

from helpers.schedules import Action, tag_of
from helpers.simulate import Simulated
from helpers.timeline.table import Facts, Table, table_of
from helpers.trace import LANES, with_waits

KINDS = ["F", "B", "I", "W", "send", "recv", "wait"]
NUMBER = {kind: number for number, kind in enumerate(KINDS)}
SEND, RECV, WAIT = NUMBER["send"], NUMBER["recv"], NUMBER["wait"]
COMPUTE, COMMUNICATION = LANES.index("compute"), LANES.index("communication")
FACTS = ("stage", "micro_batch", "peer", "tag", "bytes", "cause", "for", "until", "name")


def simulated_table(done: Simulated) -> Table:
    """The same as ``table_of(done.trace)``, up to the order of the events."""
    if any(done.costs.update) or any(done.costs.all_reduce):
        return table_of(with_waits(done.trace))
    table = Table(list(range(done.schedule.size)), list(KINDS), list(LANES))
    table.facts = {key: Facts() for key in FACTS}
    _put_actions(table, done)
    _put_messages(table, done)
    _put_waits(table, done)
    talks = len(table.start) > sum(map(len, done.schedule.ranks))
    table.drawn = ["compute", "communication"] if talks else ["compute"]
    table.goes_to = [0, 1 if talks else -1, 0]
    for rank in table.ranks:
        steps = done.memory(rank)
        table.memory.rank += [rank] * len(steps)
        table.memory.time += [time for time, _ in steps]
        table.memory.value += [held for _, held in steps]
    return table


def _put_actions(table: Table, done: Simulated) -> None:
    for rank, actions in enumerate(done.schedule.ranks):
        _put(table, rank, 0, COMPUTE, done.times.starts[rank], done.times.ends[rank])
        if actions:
            table.kind[-len(actions) :] = [NUMBER[action[0]] for action in actions]
        _note(table, "stage", [action[1] for action in actions])
        _note(table, "micro_batch", [action[2] for action in actions])


def _put_messages(table: Table, done: Simulated) -> None:
    """Both ends of each message, from when it leaves until it arrives; a link at a time."""
    schedule, times, m = done.schedule, done.times, done.schedule.micro_batches
    latency, bandwidth, sizes = done.costs.latency, done.costs.bandwidth, done.costs.message_bytes
    given, arrived = map(np.array, times.given), map(np.array, times.arrived)
    for back, (left, came) in enumerate(zip(given, arrived, strict=True)):
        for low in range(schedule.stages - 1):
            source, target = (low + 1, low) if back else (low, low + 1)
            sender, receiver = schedule.rank_of[source], schedule.rank_of[target]
            if sender == receiver:
                continue
            here = slice(source * m, source * m + m)
            end = came[here]
            start = np.maximum(left[here], end - (sizes[low] / bandwidth[low] + latency[low]))
            kind = "B" if back else "F"
            first = tag_of(schedule, Action(kind, target, 0))
            step = tag_of(schedule, Action(kind, target, 1)) - first
            tags = range(first, first + m * step, step)
            sends = len(table.start)
            table.pairs += zip(
                range(sends, sends + m), range(sends + m, sends + 2 * m), strict=True
            )
            for rank, number, stage, peer in (
                (sender, SEND, source, receiver),
                (receiver, RECV, target, sender),
            ):
                _put(table, rank, number, COMMUNICATION, start.tolist(), end.tolist())
                _note(table, "stage", [stage] * m)
                _note(table, "micro_batch", range(m))
                _note(table, "peer", [peer] * m)
                _note(table, "tag", tags)
                _note(table, "bytes", [int(sizes[low])] * m)


def _put_waits(table: Table, done: Simulated) -> None:
    """What waits for an action comes first: it has facts that the rest has not."""
    idle = [each for each in done.idle if each.cause != "all-reduce"]
    waits = [each for each in idle if each.action is not None]
    rest = [each for each in idle if each.action is None]
    for some in (waits, rest):
        table.rank += [each.rank for each in some]
        table.kind += [WAIT] * len(some)
        table.lane += [COMMUNICATION] * len(some)
        table.start += [each.start for each in some]
        table.end += [each.end for each in some]
        facts = {"cause": [each.cause for each in some]}
        if some is waits:
            facts["stage"] = [each.action.stage for each in some]
            facts["micro_batch"] = [each.action.micro_batch for each in some]
            facts["for"] = [str(each.action) for each in some]
            facts["until"] = [each.until for each in some]
        for key, values in facts.items():
            _note(table, key, values)
    table.facts["name"] = table.facts["cause"]


def _put(table: Table, rank: int, kind: int, lane: int, start: list, end: list) -> None:
    """Append events that share a rank, a kind and a lane."""
    table.rank += [rank] * len(start)
    table.kind += [kind] * len(start)
    table.lane += [lane] * len(start)
    table.start += start
    table.end += end


def _note(table: Table, key: str, values: Sequence) -> None:
    """Append a fact of the last events: one value for each of them."""
    end = len(table.start)
    table.facts[key].at += range(end - len(values), end)
    table.facts[key].values += values
