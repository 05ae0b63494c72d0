"""Chrome trace JSON (Google's "Trace Event Format"): out, and in again.

One JSON object whose "traceEvents" have a phase "ph": "X" something that took time, "M" a name, "C"
a counter, "s" and "f" the two ends of an arrow. Times are microseconds. A rank is a process, a lane
one of its threads. https://ui.perfetto.dev shapes the details: process 0 is special there, so rank
r is process r + 1; two events on a thread may nest but not cross, so what crosses goes to a second
thread of the same lane.
"""

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from helpers.files import as_path, read_whole, write_whole
from helpers.trace.events import LANES, Counter, Event, Trace
from helpers.trace.foreign import read_foreign
from helpers.trace.match import matched_messages

OURS = "helpers.trace"  # the mark in "otherData" by which we know our own files
NS = 1_000_000_000


def save(trace: Trace, path: str | os.PathLike) -> Path:
    """Write the trace as Chrome trace JSON, whole or not at all; a name in .gz is compressed."""
    data = "".join(_text(trace)).encode("utf-8")
    if str(path).endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    return write_whole(path, data)


def _text(trace: Trace) -> Iterator[str]:
    # Not ASCII: older Perfettos refuse \u escapes. NaN is no JSON, and spoils the whole file.
    encode = json.JSONEncoder(default=_plain, ensure_ascii=False, allow_nan=False).encode
    yield '{"displayTimeUnit": "ms", "traceEvents": [\n'
    between = ""
    for row in _rows(trace):
        try:
            yield between + encode(row)
        except ValueError:
            yield between + encode(_finite(row))
        between = ",\n"
    yield f'\n], "otherData": {encode(_finite({OURS: 1, "meta": trace.meta}))}}}\n'


def _rows(trace: Trace) -> Iterator[dict]:
    thread_of, threads = _threads(trace)
    for rank in trace.ranks:
        pid = rank + 1
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": f"rank {rank}"}}
        yield {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": rank}}
    for (rank, lane, track), tid in threads.items():
        row = {"ph": "M", "pid": rank + 1, "tid": tid, "name": "thread_name"}
        yield row | {"args": {"name": lane if not track else f"{lane} {track + 1}", "lane": lane}}
        yield row | {"name": "thread_sort_index", "args": {"sort_index": tid}}
    for event, tid in zip(trace.events, thread_of, strict=True):
        yield _row(event, tid)
    tid_of = dict(zip(map(id, trace.events), thread_of, strict=True))
    for number, (send, receive) in enumerate(matched_messages(trace), start=1):
        # An arrow's end belongs to the box that is open at that time: one ns before it closes.
        landing = max(_ns(receive.start), _ns(receive.end) - 1)
        both = {"name": "message", "cat": "message", "id": number}
        yield _place("s", send.rank, tid_of[id(send)], _ns(send.start)) | both
        yield _place("f", receive.rank, tid_of[id(receive)], landing) | both | {"bp": "e"}
    for c in trace.counters:
        ns = _ns(c.time)
        row = _place("C", c.rank, 1, ns) | {"name": c.name, "args": {"value": c.value}}
        yield row if ns / NS == c.time else row | {"start_s": c.time}


def _row(e: Event, tid: int) -> dict:
    start, end = _ns(e.start), _ns(e.end)
    row = _place("X", e.rank, tid, start)
    row["dur"] = (end - start) / 1000
    row["cat"] = e.kind
    row["name"] = f"{e.kind} {e.name}" if e.name else e.kind
    row["args"] = e.info
    if start / NS != e.start or end / NS != e.end:
        # Clocks count whole nanoseconds; computed times may not, and must come back as they were.
        row["start_s"], row["end_s"] = e.start, e.end
    return row


def _place(phase: str, rank: int, tid: int, ns: int) -> dict:
    return {"ph": phase, "pid": rank + 1, "tid": tid, "ts": ns / 1000}


def _ns(seconds: float) -> int:
    return round(seconds * NS)


def _threads(trace: Trace) -> tuple[list[int], dict[tuple[int, str, int], int]]:
    """Return the thread of each event, so that no two on one cross, and all threads as
    {(rank, lane, number in the lane): thread}."""
    thread_of = [0] * len(trace.events)
    threads: dict[tuple[int, str, int], int] = {}
    tracks: dict[tuple[int, str], list[list[float]]] = {}  # of each: the ends of what is open
    events = trace.events
    for i in sorted(range(len(events)), key=lambda i: (events[i].start, -events[i].end)):
        e = events[i]
        of_lane = tracks.setdefault((e.rank, e.lane), [])
        number = next((n for n, ends in enumerate(of_lane) if _fits(ends, e)), len(of_lane))
        if number == len(of_lane):
            of_lane.append([])
        of_lane[number].append(e.end)
        key = e.rank, e.lane, number
        if key not in threads:
            threads[key] = _new_thread(e.rank, e.lane, set(threads.values()))
        thread_of[i] = threads[key]
    return thread_of, threads


def _fits(ends: list[float], e: Event) -> bool:
    """Return whether an event crosses none of those that end then, and forget what has ended."""
    while ends and ends[-1] <= e.start:
        ends.pop()
    return not ends or e.end <= ends[-1]


def _new_thread(rank: int, lane: str, taken: set[int]) -> int:
    """A number that no other thread has; compute sorts before communication."""
    place = LANES.index(lane) if lane in LANES else len(LANES)
    thread = 1000 * (rank + 1) + 100 * place + 1
    while thread in taken:
        thread += 1
    return thread


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
    if isinstance(value, float) and not abs(value) < float("inf"):
        return str(value)
    return value


def load(path: str | os.PathLike) -> Trace:
    """Read a Chrome trace: ours as it was, another program's as `foreign` guesses. Raises OSError
    if the file cannot be read, ValueError (one sentence) if it is no trace."""
    try:
        data = read_whole(path)
    except OSError as error:
        raise type(error)(f"cannot read the trace {path}: {error.strerror}") from error
    content = _parsed(path, data)
    rows = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(rows, list):
        raise ValueError(f"{path} is JSON but no Chrome trace: it has no list 'traceEvents'")
    other = content.get("otherData") if isinstance(content, dict) else None
    ours = isinstance(other, dict) and OURS in other
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not isinstance(row.get("ph"), str):
            raise ValueError(
                f"{path} is JSON but no Chrome trace: entry {number} of its {len(rows)} events "
                "has no phase 'ph'"
            )
    try:
        return _read_ours(rows, other) if ours else read_foreign(rows, content)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"{path} is a Chrome trace with an event that misses a field or has one of the wrong "
            f"type ({type(error).__name__}: {error})"
        ) from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _parsed(path, data: bytes) -> object:
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        text = data.decode("utf-8")
    except EOFError as error:
        raise ValueError(_cut_off(path, len(data))) from error
    except (UnicodeDecodeError, OSError) as error:
        raise ValueError(f"{path} is no trace: it is not text") from error
    if not text.strip():
        raise ValueError(f"{path} is empty: the run that should have written it did not get there")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(f"{path} is no trace: its JSON is nested too deeply") from error
    except json.JSONDecodeError as error:
        at_the_end = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        if text.lstrip()[0] in "{[" and at_the_end:
            raise ValueError(_cut_off(path, len(data))) from error
        raise ValueError(
            f"{path} is no trace: it is not JSON (line {error.lineno}, column {error.colno}: "
            f"{error.msg})"
        ) from error


def _cut_off(path, size: int) -> str:
    return f"{path} is cut off after {size:,} bytes: copy it again, or run again to record it"


def _read_ours(rows: list[dict], other: dict) -> Trace:
    threads = [row for row in rows if row["name"] == "thread_name"]
    lanes = {(row["pid"], row["tid"]): row["args"]["lane"] for row in threads}
    events, counters = [], []
    for row in rows:
        if row["ph"] == "X":
            events.append(_event(row, lanes[row["pid"], row["tid"]]))
        elif row["ph"] == "C":
            time = row.get("start_s", round(row["ts"] * 1000) / NS)
            counters.append(Counter(row["pid"] - 1, row["name"], time, row["args"]["value"]))
    return Trace(events, other.get("meta", {}), counters)


def _event(row: dict, lane: str) -> Event:
    kind, name = row["cat"], row["name"][len(row["cat"]) + 1 :]
    if "start_s" in row:
        start, end = row["start_s"], row["end_s"]
    else:
        ns = round(row["ts"] * 1000)
        start, end = ns / NS, (ns + round(row["dur"] * 1000)) / NS
    return Event(row["pid"] - 1, kind, start, end, lane, name, row["args"])


def load_all(paths: str | os.PathLike | Iterable[str | os.PathLike]) -> Trace:
    """Read a folder of per-rank files, or the files named; see `Trace.load_all`."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    files = [file for path in paths for file in _files(as_path(path))]
    if not files:
        raise ValueError("no trace to load: the list of files is empty")
    traces = [load(file) for file in files]
    seen: dict[int, Path] = {}
    for file, trace in zip(files, traces, strict=True):
        for rank in trace.ranks:
            if rank in seen:
                raise ValueError(
                    f"rank {rank} is in two files, {seen[rank]} and {file}: give the files of one "
                    "run only, one for each rank"
                )
            seen[rank] = file
    return traces[0].merged(*traces[1:])


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(f for f in path.iterdir() if f.name.endswith((".json", ".json.gz")))
    if not found:
        raise ValueError(f"no trace in the folder {path}: it holds no .json file")
    return found
