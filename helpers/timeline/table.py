"""The events of a trace as a table: a column for each fact, an entry for each event.

A browser draws a hundred thousand events from columns. As many small objects it could not.
"""

from dataclasses import dataclass, field

from helpers.trace import LANES, Trace, is_pipeline, messages
from helpers.trace.measure import length, union

MAX_LANES = 8  # rows of one rank; a trace of another program may have hundreds of threads


@dataclass
class Facts:
    """One fact of some of the events: `values[k]` is that of event `at[k]`."""

    at: list[int] = field(default_factory=list)
    values: list = field(default_factory=list)

    def put(self, event: int, value: object) -> None:
        self.at.append(event)
        self.values.append(value)


@dataclass
class Memory:
    """From `time[k]` (seconds) on, a rank (a position in `Table.ranks`) holds `value[k]` bytes.

    Rank by rank, each in the order of time.
    """

    rank: list[int] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)


@dataclass
class Table:
    """Events as columns (lists, or arrays where a simulation made them), in any order.

    ranks: the ranks, one row of the picture each. kinds, lanes: the words that occur.
    rank, kind, lane: of each event, as a position in these three. start, end: seconds from 0.
    facts: what `Event.info` holds, and "name".
    pairs: the two events of each message, (send, recv).
    pipeline: whether its ranks are stages of a pipeline.
    drawn: the lanes to draw, from above. goes_to: for each lane, in which of these; -1: in none.
    """

    ranks: list[int]
    kinds: list[str]
    lanes: list[str]
    rank: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    lane: list[int] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)
    facts: dict[str, Facts] = field(default_factory=dict)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    goes_to: list[int] = field(default_factory=list)
    pipeline: bool = False
    memory: Memory = field(default_factory=Memory)


def table_of(trace: Trace) -> Table:
    """The table of a trace that starts at 0 s and has its waits."""
    ranks = trace.ranks
    row_of = {rank: row for row, rank in enumerate(ranks)}
    kinds: dict[str, int] = {}
    lanes: dict[str, int] = {lane: number for number, lane in enumerate(LANES)}
    table = Table(ranks, [], [])
    for number, e in enumerate(trace.events):
        table.rank.append(row_of[e.rank])
        table.kind.append(kinds.setdefault(e.kind, len(kinds)))
        table.lane.append(lanes.setdefault(e.lane, len(lanes)))
        table.start.append(e.start)
        table.end.append(e.end)
        for key, value in e.info.items():
            table.facts.setdefault(str(key), Facts()).put(number, value)
        if e.name:
            table.facts.setdefault("name", Facts()).put(number, e.name)
    number_of = {id(e): number for number, e in enumerate(trace.events)}
    table.pairs = [(number_of[id(s)], number_of[id(r)]) for s, r in messages(trace)]
    table.kinds, table.lanes = list(kinds), list(lanes)
    table.pipeline = is_pipeline(trace)
    table.drawn, table.goes_to = _lanes_to_draw(trace, table.lanes, set(table.lane))
    counters = [c for c in trace.counters if c.name == "memory"]
    for c in sorted(counters, key=lambda c: c.rank):  # stable: the times of a rank keep their order
        table.memory.rank.append(row_of[c.rank])
        table.memory.time.append(c.time)
        table.memory.value.append(c.value)
    return table


def _lanes_to_draw(trace: Trace, lanes: list[str], used: set[int]) -> tuple[list[str], list[int]]:
    """The lanes of every rank, and where each lane's events are drawn.

    Input that never goes on while a rank computes is drawn in the compute lane, as in the static
    picture: no lane is needed to show that they take turns.
    """
    taking_turns = not any(
        _overlap([e for e in row if e.lane == "input"], [e for e in row if e.lane == "compute"])
        for row in trace.by_rank().values()
    )
    joined = {"input": "compute"} if taking_turns else {}
    wanted = {joined.get(lanes[number], lanes[number]) for number in used}
    others = sorted(wanted - set(LANES))
    drawn = ["compute", *(lane for lane in LANES[1:] if lane in wanted), *others][:MAX_LANES]
    places = [joined.get(lane, lane) for lane in lanes]
    return drawn, [drawn.index(place) if place in drawn else -1 for place in places]


def _overlap(some: list, others: list) -> bool:
    """Whether one of the first goes on while one of the second does; a ns does not count."""
    together = length(union([*some, *others]))
    return length(union(some)) + length(union(others)) > together + 1e-9
