"""The table of a simulated step, made without its events.

The picture has to follow while a slider moves, but building thousands of `Event`s and taking them
apart again takes longer than the simulation. A test checks that both ways make the same table.
"""

from helpers.simulate import Simulated
from helpers.timeline.table import SparseColumn, Table, table_of
from helpers.trace import LANES, with_waits
from helpers.trace.events import lane_of

KINDS = ["F", "B", "I", "W", "send", "recv", "wait"]
NUMBER = {kind: number for number, kind in enumerate(KINDS)}
LANE = {kind: LANES.index(lane_of(kind)) for kind in KINDS}


def simulated_table(done: Simulated) -> Table:
    """Return ``table_of(done.trace)``, up to the order of events."""
    if any(done.costs.update) or any(done.costs.all_reduce):
        return table_of(with_waits(done.trace))
    table = Table(list(range(done.schedule.size)), list(KINDS), list(LANES), pipeline=True)
    for some in done.columns():
        here = range(len(table.start), len(table.start) + len(some.start))
        table.rank += some.rank
        table.kind += [NUMBER[kind] for kind in some.kind]
        table.lane += [LANE[kind] for kind in some.kind]
        table.start += some.start
        table.end += some.end
        for key, values in some.facts.items():
            column = table.facts.setdefault(key, SparseColumn())
            if None in values:
                there = [n for n, value in enumerate(values) if value is not None]
                column.at += [here[n] for n in there]
                values = [values[n] for n in there]
            else:
                column.at += here
            column.values += values
        if "send" in some.kind:
            table.pairs += zip(here, range(here.stop, here.stop + len(here)), strict=True)
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
