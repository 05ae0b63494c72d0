"""Chrome trace JSON (Google's "Trace Event Format"): out, and in again.

One JSON object whose "traceEvents" have a phase "ph": "X" something that took time, "M" a name, "C"
a counter, "s" and "f" the two ends of an arrow. Times are microseconds. A rank is a process, a lane
one of its threads. https://ui.perfetto.dev shapes the details: process 0 is special there, so rank
r is process r + 1; two events on a thread may nest but not cross, so what crosses goes to a second
thread of the same lane.
"""

import gzip
import json
import math
import os
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from helpers.files import as_path, read_whole, write_whole
from helpers.trace.events import LANES, Counter, Event, Trace
from helpers.trace.foreign import read_foreign
from helpers.trace.match import matched_messages

OURS = "helpers.trace"  # the mark in "otherData" by which we know our own files
NS = 1_000_000_000


def save(trace: Trace, path: str | os.PathLike) -> Path:
    # Not ASCII: older Perfettos refuse \u escapes. NaN is no JSON, and spoils the whole file.
    encode = json.JSONEncoder(default=_plain, ensure_ascii=False, allow_nan=False).encode
    other = {OURS: 1, "meta": trace.meta}
    try:
        *lines, other = map(encode, chain(_rows(trace), [other]))
    except ValueError:
        *lines, other = map(encode, map(_finite, chain(_rows(trace), [other])))
    lines = ",\n".join(lines)
    text = f'{{"displayTimeUnit": "ms", "traceEvents": [\n{lines}\n], "otherData": {other}}}\n'
    data = text.encode("utf-8")
    return write_whole(path, gzip.compress(data, mtime=0) if str(path).endswith(".gz") else data)


def _rows(trace: Trace) -> Iterator[dict]:
    threads = _threads(trace)
    tids = {thread: tid for tid, thread in enumerate(sorted(set(threads)), start=1)}
    tid_of = {id(e): tids[thread] for e, thread in zip(trace.events, threads, strict=True)}
    for rank in trace.ranks:
        row = {"ph": "M", "pid": rank + 1}
        yield row | {"name": "process_name", "args": {"name": f"rank {rank}"}}
        yield row | {"name": "process_sort_index", "args": {"sort_index": rank}}
    for (rank, _, lane, track), tid in tids.items():
        row = {"ph": "M", "pid": rank + 1, "tid": tid}
        shown = lane if not track else f"{lane} {track + 1}"
        yield row | {"name": "thread_name", "args": {"name": shown, "lane": lane}}
        yield row | {"name": "thread_sort_index", "args": {"sort_index": tid}}
    for e in trace.events:
        start, end = _ns(e.start), _ns(e.end)
        row = _place("X", e.rank, tid_of[id(e)], start)
        row["dur"], row["cat"], row["args"] = (end - start) / 1000, e.kind, e.info
        row["name"] = f"{e.kind} {e.name}" if e.name else e.kind
        if start / NS != e.start or end / NS != e.end:
            # Clocks count whole nanoseconds; computed times may not, and must come back as they
            # were.
            row["start_s"], row["end_s"] = e.start, e.end
        yield row
    for number, (send, receive) in enumerate(matched_messages(trace), start=1):
        # An arrow's end belongs to the box that is open at that time: one ns before it closes.
        landing = max(_ns(receive.start), _ns(receive.end) - 1)
        both = {"name": "message", "cat": "message", "id": number}
        yield _place("s", send.rank, tid_of[id(send)], _ns(send.start)) | both
        yield _place("f", receive.rank, tid_of[id(receive)], landing) | both | {"bp": "e"}
    for c in trace.counters:
        row = {"name": c.name, "args": {"value": c.value}, "start_s": c.time}
        yield _place("C", c.rank, 1, _ns(c.time)) | row


def _place(phase: str, rank: int, tid: int, ns: int) -> dict:
    return {"ph": phase, "pid": rank + 1, "tid": tid, "ts": ns / 1000}


def _ns(seconds: float) -> int:
    return round(seconds * NS)


def _threads(trace: Trace) -> list[tuple[int, int, str, int]]:
    """Return the thread of each event, so that no two on one cross: its rank, the place of its
    lane, the lane, and a number in the lane."""
    threads = [()] * len(trace.events)
    tracks: dict[tuple, list[list[float]]] = {}  # of each lane and thread: the ends of what is open
    events = trace.events
    for i in sorted(range(len(events)), key=lambda i: (events[i].start, -events[i].end)):
        e = events[i]
        place = LANES.index(e.lane) if e.lane in LANES else len(LANES)
        of_lane = tracks.setdefault((e.rank, place, e.lane), [])
        number = next((n for n, ends in enumerate(of_lane) if _fits(ends, e)), len(of_lane))
        if number == len(of_lane):
            of_lane.append([])
        of_lane[number].append(e.end)
        threads[i] = (e.rank, place, e.lane, number)
    return threads


def _fits(ends: list[float], e: Event) -> bool:
    """Return whether an event crosses none of those that end then, and forget what has ended."""
    while ends and ends[-1] <= e.start:
        ends.pop()
    return not ends or e.end <= ends[-1]


def _plain(value: object) -> object:
    """Numbers of numpy and torch as Python's; anything else that JSON has no form for as text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return sorted(value) if isinstance(value, (set, frozenset)) else str(value)


def _finite(value: object) -> object:
    """Return the same with "nan" and "inf" as text."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def load(path: str | os.PathLike) -> Trace:
    try:
        content = _parsed(path, read_whole(path))
    except OSError as error:
        raise type(error)(f"cannot read the trace {path}: {error.strerror}") from error
    rows = content.get("traceEvents") if isinstance(content, dict) else content
    other = content.get("otherData") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise ValueError(f"{path} is JSON but no Chrome trace: it has no list 'traceEvents'")
    try:
        if isinstance(other, dict) and OURS in other:
            return _read_ours(rows, other)
        return read_foreign(rows, content)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        words = "is JSON but no Chrome trace: an event misses a field or has one of the wrong type"
        raise ValueError(f"{path} {words} ({type(error).__name__}: {error})") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _parsed(path, data: bytes) -> object:
    cut = f"{path} is cut off after {len(data):,} bytes: copy it again, or run again to record it"
    try:
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8").strip()
    except EOFError:
        raise ValueError(cut) from None
    except (UnicodeDecodeError, OSError, zlib.error):
        raise ValueError(f"{path} is no trace: it is not text") from None
    if not text:
        raise ValueError(f"{path} is empty: the run that should have written it did not get there")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"{path} is no trace: its JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        ends = error.pos >= len(text) or error.msg.startswith("Unterminated")
        said = f"{path} is no trace: it is not JSON ({error})"
        raise ValueError(cut if ends and text[0] in "{[" else said) from None


def _read_ours(rows: list[dict], other: dict) -> Trace:
    lanes, events, counters = {}, [], []
    for row in rows:  # the names of threads come first
        rank, phase, name = row["pid"] - 1, row["ph"], row["name"]
        if name == "thread_name" and phase == "M":
            lanes[rank, row["tid"]] = row["args"]["lane"]
        elif phase in "XC":
            ns = round(row["ts"] * 1000)
            start = row.get("start_s", ns / NS)
        if phase == "X":
            end = row.get("end_s", (ns + round(row["dur"] * 1000)) / NS)
            kind, lane, name = row["cat"], lanes[rank, row["tid"]], name[len(row["cat"]) + 1 :]
            events.append(Event(rank, kind, start, end, lane, name, row["args"]))
        elif phase == "C":
            counters.append(Counter(rank, name, start, row["args"]["value"]))
    return Trace(events, other.get("meta", {}), counters)


def load_all(paths: str | os.PathLike | Iterable[str | os.PathLike]) -> Trace:
    paths, traces, seen = [paths] if isinstance(paths, (str, os.PathLike)) else paths, [], {}
    for path in map(as_path, paths):
        files = [path]
        if path.is_dir():
            files = sorted(f for f in path.iterdir() if f.name.endswith((".json", ".json.gz")))
        if not files:
            raise ValueError(f"no trace in the folder {path}: it holds no .json file")
        for file in files:
            traces.append(load(file))
            for rank in traces[-1].ranks:
                if rank in seen:
                    words = f"rank {rank} is in two files, {seen[rank]} and {file}"
                    raise ValueError(f"{words}: give the files of one run only, one for each rank")
                seen[rank] = file
    if not traces:
        raise ValueError("no trace to load: the list of files is empty")
    return traces[0].merged(*traces[1:])
