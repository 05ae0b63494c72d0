import numpy as np
import pytest

from helpers.timeline.table import Panel, pack, table_of
from helpers.trace import Counter, Event, Trace, matched_messages
from helpers.trace.examples import data_parallel, pipeline


def packed(trace):
    return pack([Panel("", "", table_of(trace))], "title", "alt")


def as_rows(trace):
    """Each event as a dict, names and lists as the page shows them."""
    rows = []
    for e in trace.events:
        row = {"rank": e.rank, "kind": e.kind, "lane": e.lane, "start": e.start, "end": e.end}
        rows.append(row | e.info | ({"name": e.name} if e.name else {}))
    return rows


def in_any_order(rows):
    return sorted(rows, key=lambda row: sorted(map(str, row.items())))


@pytest.mark.parametrize("trace", [data_parallel(), pipeline()])
def test_every_event_comes_through_with_all_its_facts(trace, unpacked):
    (rows,) = unpacked(*packed(trace))
    assert in_any_order(rows) == in_any_order(as_rows(trace))


def test_a_time_that_is_no_second_keeps_its_unit():
    events = [Event(0, "F", 0, 1)]
    (steps,), (seconds,) = (
        packed(Trace(events, meta))[0]["parts"] for meta in ({"unit": "steps"}, {})
    )
    assert steps["unit"] == "steps" and "unit" not in seconds  # what was saved before has none


def test_each_type_of_fact_comes_through(unpacked):
    infos = [
        {"bytes": 5_000_000_000, "share": 0.5, "group": [0, 2], "deep": {"a": 1}, "mixed": 1},
        {"step": -7, "mixed": "two", "on": True, "nothing": None, "name_of": "<b> & \0 ü"},
        {},
    ]
    trace = Trace([Event(0, "F", i, i + 1, info=info) for i, info in enumerate(infos)])
    (rows,) = unpacked(*packed(trace))
    kept = [{k: v for k, v in row.items() if k in {**infos[0], **infos[1]}} for row in rows]
    assert kept == [
        {"bytes": 5e9, "share": 0.5, "group": "0, 2", "deep": '{"a": 1}', "mixed": "1"},
        {"step": -7, "mixed": "two", "on": "true", "nothing": "null", "name_of": "<b> &   ü"},
        {},
    ]


def test_messages_name_the_events_where_they_went(unpacked):
    trace = pipeline()
    head, body = packed(trace)
    (rows,), part = unpacked(head, body), head["parts"][0]
    ends = [
        np.frombuffer(body, dtype=f"<{kind[0]}{int(kind[1:]) // 8}", count=count, offset=offset)
        for kind, offset, count in (part["messages"]["send"], part["messages"]["recv"])
    ]
    seen = {
        (rows[s]["rank"], rows[s]["start"], rows[r]["rank"], rows[r]["end"])
        for s, r in zip(*ends, strict=True)
    }
    assert seen == {(s.rank, s.start, r.rank, r.end) for s, r in matched_messages(trace)}


def test_memory_is_the_only_counter_of_the_strip():
    counters = [
        Counter(1, "memory", 0, 1),
        Counter(0, "memory", 1, 2),
        Counter(0, "tokens", 1, 9),
        Counter(1, "memory", 2, 0),
    ]
    head, body = packed(Trace([Event(0, "F", 0, 1)], {}, counters))
    kind, offset, count = head["parts"][0]["memory"]["value"]
    values = np.frombuffer(body, "<f8", count, offset)
    assert (kind, list(values)) == ("f64", [2, 1, 0])


def test_many_events_take_few_bytes_each():
    events = [
        Event(r, "FB"[i % 2], i, i + 0.9, info={"micro_batch": i})
        for i in range(2_500)
        for r in range(8)
    ]
    head, body = packed(Trace(events))
    assert head["parts"][0]["columns"]["start"][2] == 20_000
    assert len(body) <= 20_000 * 24
