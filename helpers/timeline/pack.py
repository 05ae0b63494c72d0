"""Tables as bytes: one block of memory that the browser reads as typed arrays, without a copy.

The head says where each column lies: [type, first byte, number of values]. Types are those of
JavaScript's arrays (f64, i32, u8 ...), little-endian, each column at a multiple of 8 bytes.
"""

import json
from dataclasses import dataclass, field

import numpy as np

from helpers.timeline.look import look_of
from helpers.timeline.table import Facts, Table

TYPES = ("i8", "u8", "i16", "u16", "i32", "u32")  # from narrow to wide
END = "\0"  # between two words of a text column
NUMPY = {"i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "f64": "f8"}


@dataclass
class Part:
    """One of the traces of a timeline. title: what it shows, in one line."""

    name: str
    title: str
    table: Table


@dataclass
class Body:
    """The block of bytes as it grows."""

    pieces: list[bytes] = field(default_factory=list)
    size: int = 0

    def put(self, values, kind: str = "") -> list:
        """Append a column; give its place. kind: left out, the narrowest that holds all."""
        array = np.asarray(values)
        kind = kind or _narrowest(array)
        data = array.astype(np.dtype(NUMPY[kind]).newbyteorder("<"), copy=False).tobytes()
        place = [kind, self.size, int(array.size)]
        data += bytes(-len(data) % 8)
        self.pieces.append(data)
        self.size += len(data)
        return place


def pack(parts: list[Part], title: str, alt: str) -> tuple[dict, bytes]:
    """(head, body) of a timeline. alt: what it says, for readers who do not see it."""
    body = Body()
    heads = [_pack_part(part, body) for part in parts]
    return {"title": title, "alt": alt, "parts": heads}, b"".join(body.pieces)


def _pack_part(part: Part, body: Body) -> dict:
    table = part.table
    names = ("rank", "kind", "lane", "start", "end")
    found = {name: np.asarray(getattr(table, name)) for name in names}
    order = _order(table, found)
    place = np.empty(len(order), dtype=np.int64)  # where each event went
    place[order] = np.arange(len(order))
    columns = {name: body.put(found[name][order]) for name in names[:3]}
    columns |= {name: body.put(found[name][order], "f64") for name in names[3:]}
    pairs = place[np.asarray(table.pairs, dtype=np.int64).reshape(-1, 2)]
    return {
        "name": part.name,
        "title": part.title,
        "ranks": table.ranks,
        "kinds": [look_of(kind) for kind in table.kinds],
        "lanes": table.lanes,
        "drawn": table.drawn,
        "goes_to": table.goes_to,
        "pipeline": table.pipeline,
        "columns": columns,
        "facts": _pack_all_facts(table.facts, place, body),
        "messages": {"send": body.put(pairs[:, 0]), "recv": body.put(pairs[:, 1])},
        "memory": {
            "rank": body.put(table.memory.rank),
            "time": body.put(table.memory.time, "f64"),
            "value": body.put(table.memory.value, "f64"),
        },
    }


def _order(table: Table, found: dict[str, np.ndarray]) -> np.ndarray:
    """Events row by row, lane by lane, in the order they start; of nested ones the outer first.

    What takes no time comes before what starts with it: so actions keep their order.
    """
    if not len(table.start):
        return np.empty(0, dtype=np.int64)
    start, end = found["start"], found["end"]
    drawn = np.asarray(table.goes_to)[found["lane"]]
    drawn = np.where(drawn < 0, len(table.drawn), drawn)
    return np.lexsort((-end, end > start, start, drawn, found["rank"]))


def _pack_all_facts(named: dict[str, Facts], place: np.ndarray, body: Body) -> dict:
    """Two names may have the same facts: they are packed once."""
    packed = {
        id(facts): _pack_facts(facts, place, body) for facts in named.values() if len(facts.at)
    }
    return {key: packed[id(facts)] for key, facts in named.items() if len(facts.at)}


def _pack_facts(facts: Facts, place: np.ndarray, body: Body) -> dict:
    """One fact as a column with an entry for every event.

    "int" and "text" have a value that means: this event has no such fact; "float" has NaN.
    """
    at, count = place[facts.at], len(place)
    types = _types(facts.values)
    if types == {int} and (values := np.asarray(facts.values)).dtype.kind == "i" and _small(values):
        missing = int(values.min()) - 1
        column = np.full(count, missing, dtype=np.int64)
        column[at] = values
        return {"type": "int", "missing": missing, "at": body.put(column)}
    if types <= {int, float}:
        column = np.full(count, np.nan)
        column[at] = np.asarray(facts.values, dtype=float)
        return {"type": "float", "at": body.put(column, "f64")}
    words: dict[str, int] = {}
    column = np.full(count, -1, dtype=np.int64)
    texts = facts.values if types == {str} else map(_text, facts.values)
    column[at] = [words.setdefault(text, len(words)) for text in texts]
    joined = END.join(word.replace(END, " ") for word in words)
    joined = np.frombuffer(joined.encode(), dtype=np.uint8)
    return {"type": "text", "missing": -1, "words": body.put(joined), "at": body.put(column)}


def _types(values) -> set[type]:
    """The types of a list's values; an array has one."""
    if isinstance(values, np.ndarray):
        return {{"i": int, "f": float, "U": str}[values.dtype.kind]}
    return set(map(type, values))


def _small(values: np.ndarray) -> bool:
    """Whether four bytes hold them, and one number more."""
    return -(2**31) < values.min() and values.max() < 2**31


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False, default=str)


def _narrowest(array: np.ndarray) -> str:
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for kind in TYPES:
        limits = np.iinfo(NUMPY[kind])
        if limits.min <= low and high <= limits.max:
            return kind
    raise OverflowError(f"no column holds the numbers from {low} to {high}")
