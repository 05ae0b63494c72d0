"""The table of a simulated step, made without its events.

The picture has to follow while a slider moves, but building thousands of `Event`s and taking them
apart again takes longer than the simulation. A test checks that both ways make the same table.
"""

from collections.abc import Sequence

from helpers.schedules import Action, pair_text, tag_of
from helpers.simulate import Simulated
from helpers.timeline.table import SparseColumn, Table, table_of
from helpers.trace import LANES, with_waits

KINDS = ["F", "B", "I", "W", "send", "recv", "wait"]
NUMBER = {kind: number for number, kind in enumerate(KINDS)}
SEND, RECV, WAIT = NUMBER["send"], NUMBER["recv"], NUMBER["wait"]
COMPUTE, COMMUNICATION = LANES.index("compute"), LANES.index("communication")


def simulated_table(done: Simulated) -> Table:
    """Return ``table_of(done.trace)``, up to the order of events."""
    if any(done.costs.update) or any(done.costs.all_reduce):
        return table_of(with_waits(done.trace))
    table = Table(list(range(done.schedule.size)), list(KINDS), list(LANES), pipeline=True)
    _put_actions(table, done)
    _put_messages(table, done)
    _put_waits(table, done)
    if "cause" in table.facts:
        table.facts["name"] = table.facts["cause"]
    talks = len(table.start) > sum(map(len, done.schedule.ranks))
    table.drawn = ["compute", "communication"] if talks else ["compute"]
    table.goes_to = [0, 1 if talks else -1, 0]
    for rank in table.ranks:
        steps = done.memory(rank)
        table.memory.rank += [rank] * len(steps)
        table.memory.time += [time for time, _ in steps]
        table.memory.value += [held for _, held in steps]
    return table


def _put(table: Table, start: Sequence, end: Sequence, facts: dict[str, Sequence], **same) -> range:
    """Append events and return their numbers. same: the rank, kind and lane of all, or of each."""
    here = range(len(table.start), len(table.start) + len(start))
    table.start += start
    table.end += end
    for name, value in same.items():
        column = getattr(table, name)
        column += [value] * len(here) if isinstance(value, int) else value
    for key, values in facts.items():
        column = table.facts.setdefault(key, SparseColumn())
        column.at += here
        column.values += values
    return here


def _put_actions(table: Table, done: Simulated) -> None:
    for rank, actions in enumerate(done.schedule.ranks):
        kinds, stages, micro_batches = zip(*actions, strict=True) if actions else ((), (), ())
        here = _put(
            table,
            done.times.starts[rank],
            done.times.ends[rank],
            {"stage": stages, "micro_batch": micro_batches},
            rank=rank,
            kind=[NUMBER[kind] for kind in kinds],
            lane=COMPUTE,
        )
        for position in done.schedule.pairs[rank]:
            column = table.facts.setdefault("pair", SparseColumn())
            column.at += [here[position], here[position + 1]]
            column.values += [pair_text(done.schedule.turn_at(rank, position))] * 2


def _put_messages(table: Table, done: Simulated) -> None:
    """Add both ends of each message, from when it leaves until it arrives, link by link."""
    schedule, times, m = done.schedule, done.times, done.schedule.micro_batches
    latency, bandwidth, sizes = done.costs.latency, done.costs.bandwidth, done.costs.message_bytes
    for back, (left, came) in enumerate(zip(times.given, times.arrived, strict=True)):
        for low in range(schedule.stages - 1):
            source, target = (low + 1, low) if back else (low, low + 1)
            sender, receiver = schedule.rank_of[source], schedule.rank_of[target]
            if sender == receiver:
                continue
            here, length = slice(source * m, source * m + m), sizes[low] / bandwidth[low]
            end = list(came[here])
            start = [
                max(given, arrived - (length + latency[low]))
                for given, arrived in zip(left[here], end, strict=True)
            ]
            kind = "B" if back else "F"
            first, second = (tag_of(schedule, Action(kind, target, k)) for k in (0, 1))
            tags = range(first, first + m * (second - first), second - first)
            ends = []
            for rank, number, stage, peer in (
                (sender, SEND, source, receiver),
                (receiver, RECV, target, sender),
            ):
                facts = {
                    "stage": [stage] * m,
                    "micro_batch": range(m),
                    "peer": [peer] * m,
                    "tag": tags,
                    "bytes": [int(sizes[low])] * m,
                }
                same = {"rank": rank, "kind": number, "lane": COMMUNICATION}
                ends.append(_put(table, start, end, facts, **same))
            table.pairs += zip(*ends, strict=True)


def _put_waits(table: Table, done: Simulated) -> None:
    """Add the idle times; only those before an action have the facts of that action."""
    idle = [each for each in done.idle if each.cause != "all-reduce"]
    waits = [each for each in idle if each.action is not None]
    rest = [each for each in idle if each.action is None]
    for some in (waits, rest):
        facts = {"cause": [each.cause for each in some]} if some else {}
        if facts and some is waits:
            facts["stage"] = [each.action.stage for each in some]
            facts["micro_batch"] = [each.action.micro_batch for each in some]
            facts["for"] = [str(each.action) for each in some]
            facts["until"] = [each.until for each in some]
        _put(
            table,
            [each.start for each in some],
            [each.end for each in some],
            facts,
            rank=[each.rank for each in some],
            kind=WAIT,
            lane=COMMUNICATION,
        )
