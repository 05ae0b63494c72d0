"""Chrome trace JSON: what we write, what we read, what we refuse."""

import gzip
import json

import numpy as np
import pytest

from helpers.trace import Counter, Event, Trace
from helpers.trace.examples import data_parallel, pipeline


def written(trace, tmp_path) -> dict:
    return json.loads(trace.save(tmp_path / "t.json").read_text(encoding="utf-8"))


def phase(content, letter):
    return [row for row in content["traceEvents"] if row["ph"] == letter]


@pytest.mark.parametrize(
    "trace",
    [
        Trace(),
        Trace([Event(0, "F", 0.0, 1.0)]),
        Trace([Event(7, "F", 1 / 3, 2 / 3, "my lane", "F", {"x": [1, 2.5, None, "é"]})]),
        Trace([Event(0, "F", 123456.789012345, 123456.789012346)], {"title": "days of uptime"}),
        Trace([Event(0, "a b", 0.1, 0.1), Event(0, "a", 0.1, 0.2, name="b c")]),
        Trace([], {"n": 1}, [Counter(1, "memory", 1 / 7, 3), Counter(1, "memory", 0.5, 2.5)]),
        data_parallel(),
        pipeline(),
    ],
    ids=["none", "one", "odd", "uptime", "names", "counters", "data parallel", "pipeline"],
)
@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_our_own_file_gives_back_an_equal_trace(trace, name, tmp_path):
    assert Trace.load(trace.save(tmp_path / name)) == trace


def test_ranks_are_processes_and_lanes_threads_with_names(tmp_path):
    content = written(data_parallel(), tmp_path)
    names = {row["pid"]: row["args"]["name"] for row in phase(content, "M") if _is(row, "process")}
    assert names == {1: "rank 0", 2: "rank 1", 3: "rank 2"}
    lanes = {
        (row["pid"], row["tid"]): row["args"]["name"]
        for row in phase(content, "M")
        if _is(row, "thread")
    }
    assert sorted(lanes.values()) == sorted(["compute", "communication", "input"] * 3)
    assert len({tid for _, tid in lanes}) == 9, "no two threads share a number"
    assert {(row["pid"], row["tid"]) for row in phase(content, "X")} == set(lanes)


def _is(row, what):
    return row["name"] == f"{what}_name"


def test_times_are_microseconds(tmp_path):
    content = written(Trace([Event(0, "F", 0.5, 0.5000015, "", "x", {"tokens": 3})]), tmp_path)
    (row,) = phase(content, "X")
    assert (row["ts"], row["dur"], row["name"], row["cat"]) == (500_000.0, 1.5, "F x", "F")
    assert row["args"] == {"tokens": 3} and "start_s" not in row


def test_each_message_is_an_arrow_from_box_to_box(tmp_path):
    content = written(pipeline(stages=3, micro_batches=2), tmp_path)
    tails, heads = phase(content, "s"), phase(content, "f")
    assert len(tails) == len(heads) == 2 * 2 * 2
    for tail, head in zip(tails, heads, strict=True):
        assert tail["id"] == head["id"] and head["bp"] == "e"
        assert tail["pid"] != head["pid"] and tail["ts"] <= head["ts"]
        for end, kind in ((tail, "send"), (head, "recv")):
            boxes = [
                x
                for x in phase(content, "X")
                if (x["pid"], x["tid"], x["cat"]) == (end["pid"], end["tid"], kind)
                and x["ts"] <= end["ts"] < x["ts"] + x["dur"]
            ]
            assert len(boxes) == 1


def test_events_that_cross_get_threads_of_their_own(tmp_path):
    crossing = [Event(0, "send", 0, 4), Event(0, "recv", 2, 6), Event(0, "send", 1, 3)]
    content = written(Trace(crossing), tmp_path)
    send, recv, nested = phase(content, "X")
    assert send["tid"] == nested["tid"] != recv["tid"]
    names = [row["args"]["name"] for row in phase(content, "M") if _is(row, "thread")]
    assert names == ["communication", "communication 2"]


def test_every_line_is_an_event_and_all_of_it_strict_json(tmp_path):
    info = {"loss": float("nan"), "norm": np.float32(0.5), "shape": (2, 3), "dtype": np.dtype("f4")}
    trace = Trace([Event(0, "F", 0, 1, info=info)], {"limit": float("inf")})
    path = trace.save(tmp_path / "t.json")

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    text = path.read_text()
    json.loads(text, parse_constant=refuse)
    assert sum('"ph": "X"' in line for line in text.splitlines()) == 1
    again = Trace.load(path)
    assert again.events[0].info == {
        "loss": "nan",
        "norm": 0.5,
        "shape": [2, 3],
        "dtype": "float32",
    }
    assert again.meta == {"limit": "inf"}


def test_a_folder_of_ranks(tmp_path):
    whole = pipeline(stages=3)
    for rank in whole.ranks:
        part = Trace(whole.events_of(rank), {"rank": rank})
        part.save(tmp_path / f"rank{rank}.json")
    (tmp_path / "notes.txt").write_text("not a trace")
    for paths in (tmp_path, [tmp_path], sorted(tmp_path.glob("*.json"))):
        merged = Trace.load_all(paths)
        assert merged.ranks == [0, 1, 2]
        assert sorted(e.start for e in merged.events) == [e.start for e in merged.events]
        assert len(merged.events) == len(whole.events)


def test_a_rank_in_two_files(tmp_path):
    a = Trace([Event(0, "F", 0, 1)]).save(tmp_path / "a.json")
    b = Trace([Event(0, "F", 0, 1)]).save(tmp_path / "b.json")
    with pytest.raises(ValueError) as caught:
        Trace.load_all(tmp_path)
    assert str(caught.value) == (
        f"rank 0 is in two files, {a} and {b}: give the files of one run only, one for each rank"
    )


def test_nothing_to_load(tmp_path):
    with pytest.raises(ValueError, match="no trace in the folder .*: it holds no .json file"):
        Trace.load_all(tmp_path)
    with pytest.raises(ValueError, match="no trace to load: the list of files is empty"):
        Trace.load_all([])
    with pytest.raises(FileNotFoundError, match="cannot read the trace .*nowhere.json: No such"):
        Trace.load(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    "data, sentence",
    [
        (b"", "is empty: the run that should have written it did not get there"),
        (b"  \n", "is empty: the run that should have written it did not get there"),
        (b"hello", "is no trace: it is not JSON (line 1, column 1: Expecting value)"),
        (b'{"a": x}', "is no trace: it is not JSON (line 1, column 7: Expecting value)"),
        (b"\x89PNG\r\n\xff", "is no trace: it is not text"),
        (b'{"a": 1}', "is JSON but no Chrome trace: it has no list 'traceEvents'"),
        (b"3", "is JSON but no Chrome trace: it has no list 'traceEvents'"),
        (b'[{"ph": "X"}, 5]', "is JSON but no Chrome trace: entry 1 of its 2 events has no phase"),
        (b'[{"ph": "X", "name": "F"}]', "is a Chrome trace with an event that misses a field"),
        (b'[{"ph": "X", "name": "F", "ts": "now"}]', "has one of the wrong type (TypeError"),
        (b'[{"ph": "X", "name": "F", "ts": NaN}]', "event 'F' on rank 0 starts at nan s"),
    ],
)
def test_a_file_that_is_no_trace(data, sentence, tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(data)
    with pytest.raises(ValueError) as caught:
        Trace.load(path)
    assert str(path) in str(caught.value) and sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.999])
def test_a_file_that_is_cut_off(share, compressed, tmp_path):
    data = data_parallel().save(tmp_path / "t.json").read_bytes().rstrip()
    data = gzip.compress(data) if compressed else data
    path = tmp_path / "cut.json"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match=r"cut.json is cut off after [\d,]+ bytes: copy it again"):
        Trace.load(path)
