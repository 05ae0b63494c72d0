"""The events of a trace as a table, and the table as bytes.

A browser can draw a hundred thousand events from columns; as many small objects would be too slow.
So a trace becomes a column for each fact, with an entry for each event, and all columns become one
block of memory that the browser reads as typed arrays. The browser sorts the events, which takes it
a few milliseconds. The head says where each column lies: [type, first byte, number of values].
Types are those of JavaScript's arrays (f64, i32, u8 ...), little-endian, and each column starts at
a multiple of 8 bytes.
"""

import json
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from helpers.draw.traces import lanes_to_draw
from helpers.timeline.page import look_of
from helpers.trace import LANES, Trace, is_pipeline, matched_messages

MAX_LANES = 8  # rows of one rank; a trace of another program may have hundreds of threads
END = "\0"  # between two words of a text column
# Python's name of each type of JavaScript's arrays; the integers from narrow to wide.
CODES = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "f64": "d"}


@dataclass
class SparseColumn:
    """A fact that only some events have: `values[k]` is that of event `at[k]`."""

    at: list[int] = field(default_factory=list)
    values: list = field(default_factory=list)

    def put(self, event: int, value: object) -> None:
        self.at.append(event)
        self.values.append(value)


@dataclass
class MemoryCurve:
    """Memory over time: from second `time[k]` on, rank `rank[k]` holds `value[k]` bytes.

    A rank is a position in `Table.ranks`. Sorted by rank, then by time.
    """

    rank: list[int] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)


@dataclass
class Table:
    """Events as columns, in any order.

    ranks: the ranks, one row of the picture each. kinds, lanes: the words that occur.
    rank, kind, lane: of each event, as a position in these three. start, end: seconds from 0.
    facts: what `Event.info` holds, and "name".
    pairs: the two events of each message, (send, recv).
    pipeline: whether its ranks are stages of a pipeline. unit: of the times.
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
    facts: dict[str, SparseColumn] = field(default_factory=dict)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    goes_to: list[int] = field(default_factory=list)
    pipeline: bool = False
    unit: str = "s"
    memory: MemoryCurve = field(default_factory=MemoryCurve)


def table_of(trace: Trace) -> Table:
    """Return the table of a trace that starts at 0 s and has its waits."""
    ranks = trace.ranks
    row_of = {rank: row for row, rank in enumerate(ranks)}
    kinds: dict[str, int] = {}
    lanes: dict[str, int] = {lane: number for number, lane in enumerate(LANES)}
    table = Table(ranks, [], [], unit=trace.meta.get("unit", "s"))
    for number, e in enumerate(trace.events):
        table.rank.append(row_of[e.rank])
        table.kind.append(kinds.setdefault(e.kind, len(kinds)))
        table.lane.append(lanes.setdefault(e.lane, len(lanes)))
        table.start.append(e.start)
        table.end.append(e.end)
        for key, value in e.info.items():
            table.facts.setdefault(str(key), SparseColumn()).put(number, value)
        if e.name:
            table.facts.setdefault("name", SparseColumn()).put(number, e.name)
    number_of = {id(e): number for number, e in enumerate(trace.events)}
    table.pairs = [(number_of[id(s)], number_of[id(r)]) for s, r in matched_messages(trace)]
    table.kinds, table.lanes = list(kinds), list(lanes)
    table.pipeline = is_pipeline(trace)
    table.drawn, joined = lanes_to_draw(trace, MAX_LANES)
    places = [joined.get(lane, lane) for lane in table.lanes]
    table.goes_to = [table.drawn.index(lane) if lane in table.drawn else -1 for lane in places]
    counters = [c for c in trace.counters if c.name == "memory"]
    for c in sorted(counters, key=lambda c: c.rank):  # stable: the times of a rank keep their order
        table.memory.rank.append(row_of[c.rank])
        table.memory.time.append(c.time)
        table.memory.value.append(c.value)
    return table


@dataclass
class Panel:
    """One of the traces that a timeline shows. title: what it shows, in one line."""

    name: str
    title: str
    table: Table


@dataclass
class Body:
    """The block of bytes as it grows."""

    pieces: list[bytes] = field(default_factory=list)
    size: int = 0

    def put(self, values: Sequence, kind: str = "") -> list:
        """Append a column and return its place. kind: by default the narrowest that holds all."""
        kind = kind or _narrowest(values)
        column = array(CODES[kind], values)
        if sys.byteorder == "big":
            column.byteswap()
        data = column.tobytes()
        place = [kind, self.size, len(column)]
        data += bytes(-len(data) % 8)
        self.pieces.append(data)
        self.size += len(data)
        return place


def pack(parts: list[Panel], title: str, alt: str) -> tuple[dict, bytes]:
    """Return (head, body) of a timeline. alt: what it says, for a screen reader."""
    body = Body()
    heads = [_pack_part(part, body) for part in parts]
    return {"title": title, "alt": alt, "parts": heads}, b"".join(body.pieces)


def _pack_part(part: Panel, body: Body) -> dict:
    table = part.table
    columns = {
        "rank": body.put(table.rank),
        "kind": body.put(table.kind),
        "lane": body.put(table.lane),
        "start": body.put(table.start, "f64"),
        "end": body.put(table.end, "f64"),
    }
    # Two names may share their facts, which are packed once.
    count = len(table.start)
    shared = {id(f): _pack_facts(f, count, body) for f in table.facts.values() if f.at}
    return {
        "name": part.name,
        "title": part.title,
        "ranks": table.ranks,
        "kinds": [look_of(kind) for kind in table.kinds],
        "lanes": table.lanes,
        "drawn": table.drawn,
        "goes_to": table.goes_to,
        "pipeline": table.pipeline,
        **({} if table.unit == "s" else {"unit": table.unit}),
        "columns": columns,
        "facts": {key: shared[id(facts)] for key, facts in table.facts.items() if facts.at},
        "messages": {
            "send": body.put([send for send, _ in table.pairs]),
            "recv": body.put([receive for _, receive in table.pairs]),
        },
        "memory": {
            "rank": body.put(table.memory.rank),
            "time": body.put(table.memory.time, "f64"),
            "value": body.put(table.memory.value, "f64"),
        },
    }


def _pack_facts(facts: SparseColumn, count: int, body: Body) -> dict:
    """Pack one fact of `count` events: its values, or their places in `words`, and where they are.

    at: None if every event has the fact, else the numbers of those that do.
    """
    at = None if len(facts.at) == count else body.put(facts.at)
    types = set(map(type, facts.values))
    if types <= {int, float}:
        small = float not in types and max(map(abs, facts.values)) < 2**31
        return {"at": at, "values": body.put(facts.values, "" if small else "f64")}
    words: dict[str, int] = {}
    texts = facts.values if types == {str} else map(_text, facts.values)
    values = [words.setdefault(text, len(words)) for text in texts]
    joined = END.join(word.replace(END, " ") for word in words).encode()
    return {"at": at, "values": body.put(values), "words": body.put(joined)}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False, default=str)


def _narrowest(values: Sequence) -> str:
    low, high = (min(values), max(values)) if len(values) else (0, 0)
    for kind, code in CODES.items():
        bits = 8 * array(code).itemsize
        least, most = (
            (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        if kind != "f64" and least <= low and high <= most:
            return kind
    raise OverflowError(f"no column holds the numbers from {low} to {high}")
