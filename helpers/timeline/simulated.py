"""The table of a simulated step, made without its events.

The picture has to follow while a slider moves, but building thousands of `Event`s and taking them
apart again takes longer than the simulation. A test checks that both ways make the same table.
"""

from dataclasses import dataclass, field

import numpy as np

from helpers.schedules import Action, tag_of
from helpers.simulate import Simulated
from helpers.timeline.table import SparseColumn, Table, table_of
from helpers.trace import LANES, with_waits

KINDS = ["F", "B", "I", "W", "send", "recv", "wait"]
NUMBER = {kind: number for number, kind in enumerate(KINDS)}
SEND, RECV, WAIT = NUMBER["send"], NUMBER["recv"], NUMBER["wait"]
COMPUTE, COMMUNICATION = LANES.index("compute"), LANES.index("communication")
COLUMNS = ("rank", "kind", "lane", "start", "end")


@dataclass
class Columns:
    """The table as it grows: each column is a list of arrays, which are joined at the end.

    facts: for each, the arrays of the events that have it, and the arrays of its values.
    """

    events: dict[str, list] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    facts: dict[str, tuple[list, list]] = field(default_factory=dict)
    count: int = 0

    def put(self, start, end, facts: dict, **same) -> range:
        """Append events and return their numbers. same, facts: one value for all, or one each."""
        here = range(self.count, self.count + len(start))
        for name, values in {"start": start, "end": end, **same}.items():
            self.events[name].append(_for_each(values, len(here)))
        for key, values in facts.items():
            at, known = self.facts.setdefault(key, ([], []))
            at.append(np.arange(here.start, here.stop))
            known.append(_for_each(values, len(here)))
        self.count = here.stop
        return here

    def fill(self, table: Table) -> None:
        """Fill a table with the columns."""
        for name, pieces in self.events.items():
            setattr(table, name, np.concatenate(pieces) if pieces else np.empty(0))
        for key, (at, values) in self.facts.items():
            table.facts[key] = SparseColumn(np.concatenate(at), np.concatenate(values))


def simulated_table(done: Simulated) -> Table:
    """Return ``table_of(done.trace)``, up to the order of events, with arrays as columns."""
    if any(done.costs.update) or any(done.costs.all_reduce):
        return table_of(with_waits(done.trace))
    table = Table(list(range(done.schedule.size)), list(KINDS), list(LANES), pipeline=True)
    columns = Columns()
    _put_actions(columns, done)
    table.pairs = _put_messages(columns, done)
    _put_waits(columns, done)
    columns.fill(table)
    if "cause" in table.facts:
        table.facts["name"] = table.facts["cause"]
    talks = columns.count > sum(map(len, done.schedule.ranks))
    table.drawn = ["compute", "communication"] if talks else ["compute"]
    table.goes_to = [0, 1 if talks else -1, 0]
    for rank in table.ranks:
        steps = done.memory(rank)
        table.memory.rank += [rank] * len(steps)
        table.memory.time += [time for time, _ in steps]
        table.memory.value += [held for _, held in steps]
    return table


def _put_actions(columns: Columns, done: Simulated) -> None:
    for rank, actions in enumerate(done.schedule.ranks):
        kinds, stages, micro_batches = zip(*actions, strict=True) if actions else ((), (), ())
        columns.put(
            done.times.starts[rank],
            done.times.ends[rank],
            {"stage": stages, "micro_batch": micro_batches},
            rank=rank,
            kind=[NUMBER[kind] for kind in kinds],
            lane=COMPUTE,
        )


def _put_messages(columns: Columns, done: Simulated) -> np.ndarray:
    """Add both ends of each message, from when it leaves until it arrives, link by link."""
    schedule, times, m = done.schedule, done.times, done.schedule.micro_batches
    latency, bandwidth, sizes = done.costs.latency, done.costs.bandwidth, done.costs.message_bytes
    given, arrived = map(np.array, times.given), map(np.array, times.arrived)
    pairs = [np.empty((0, 2), dtype=np.int64)]
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
            ends = []
            for rank, number, stage, peer in (
                (sender, SEND, source, receiver),
                (receiver, RECV, target, sender),
            ):
                facts = {
                    "stage": stage,
                    "micro_batch": np.arange(m),
                    "peer": peer,
                    "tag": first + step * np.arange(m),
                    "bytes": int(sizes[low]),
                }
                same = {"rank": rank, "kind": number, "lane": COMMUNICATION}
                ends.append(columns.put(start, end, facts, **same))
            pairs.append(np.transpose([np.arange(each.start, each.stop) for each in ends]))
    return np.concatenate(pairs)


def _put_waits(columns: Columns, done: Simulated) -> None:
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
        columns.put(
            [each.start for each in some],
            [each.end for each in some],
            facts,
            rank=[each.rank for each in some],
            kind=WAIT,
            lane=COMMUNICATION,
        )


def _for_each(values, count: int) -> np.ndarray:
    """Return one value for each of `count` events; integers stay integers."""
    whole = isinstance(values, int) or (not np.isscalar(values) and not len(values))
    array = np.asarray(values, dtype=np.int64 if whole else None)
    return np.full(count, array) if array.ndim == 0 else array
