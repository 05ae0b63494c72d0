"""A trace says who waits and what is busy or idle, and is read from other programs' files, too."""

import functools
import gzip
import json
import time
from dataclasses import astuple

import numpy as np
import pytest

from helpers.trace import Counter, Event, Recorder, Trace, measure, with_waits
from helpers.trace.__main__ import main, table
from helpers.trace.match import matched_collectives, matched_messages
from helpers.trace.measure import bubble, busy, cut_by, idle, idle_by_cause, in_lanes, peak, shares
from tests.said import said
from tests.traces import data_parallel, pipeline


def test_a_trace_is_put_in_order_and_cut():
    assert [Event(0, kind, 0, 1).lane for kind in ("F", "all-reduce", "wait", "input")] == [
        "compute", "communication", "communication", "input"
    ]  # fmt: skip
    assert Event(0, "all-reduce", 0, 1, lane="compute").lane == "compute"
    trace = Trace()
    assert (trace.ranks, trace.start, trace.end, trace.duration) == ([], 0.0, 0.0, 0.0)
    events = [Event(1, "B", 3.0, 5.0), Event(0, "F", 1.0, 2.0), Event(1, "send", 2.0, 3.5)]
    part = Trace(events, {"a": 1}, [Counter(1, "memory", 2.5, 10)]).between(1.5, 3.0)
    assert [(e.kind, e.start, e.end) for e in part.events] == [("F", 1.5, 2.0), ("send", 2.0, 3.0)]
    zero = part.from_zero()
    assert (zero.start, zero.end, zero.counters[0].time) == (0, 1.5, 1.0)
    merged = part.merged(Trace([Event(2, "F", 0, 3)], {"a": 2, "b": 3}))
    assert [e.rank for e in merged.events] == [2, 0, 1] and merged.meta == {"a": 1, "b": 3}
    for end in (1.0, float("nan"), float("inf"), 2e15):  # times that make no sense
        there = said(Trace, [Event(3, "F", 2.0, end)])
        assert there.startswith("event 'F' on rank 3 starts at 2.0 s and ends at")


def test_spans_messages_and_counters_become_events(monkeypatch):
    now = iter(range(1000))  # a clock that moves one second at each reading
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(now)))
    recorder = Recorder(rank=2)
    with recorder.span("F", "block", micro_batch=3):
        with recorder.span("send", peer=1) as info:
            info["bytes"] = 8
    with pytest.raises(ZeroDivisionError), recorder.span("B"):
        1 / 0  # noqa: B018
    recorder.count("memory", 5_000)
    recorder.add("recv", 0.5, recorder.now(), peer=0, tag=7)
    assert recorder.trace() == Trace(
        [
            Event(2, "F", 0.0, 3.0, "compute", "block", {"micro_batch": 3}),
            Event(2, "recv", 0.5, 7.0, info={"peer": 0, "tag": 7}),
            Event(2, "send", 1.0, 2.0, "communication", info={"peer": 1, "bytes": 8}),
            Event(2, "B", 4.0, 5.0, info={"error": "ZeroDivisionError"}),
        ],
        {},
        [Counter(2, "memory", 6.0, 5_000)],
    )
    off = Recorder(0, enabled=False)
    with off.span("F") as info:
        info["tokens"] = 1
    off.count("memory", 1)
    off.add("recv", 0, 1)
    assert off.trace() == Trace()


def all_reduce(rank, start, end, **info):
    return Event(rank, "all-reduce", start, end, info=info)


def message(kind, rank, peer, start, end, **info):
    return Event(rank, kind, start, end, info={"peer": peer, **info})


send, recv = (functools.partial(message, kind) for kind in ("send", "recv"))


def pieces(trace, rank):
    return [(e.kind, e.start, e.end) for e in trace.events_of(rank)]


def test_messages_match_by_order_within_peer_and_tag_collectives_within_kind_and_group():
    a, b, other = send(0, 1, 1, 2), send(0, 1, 3, 4), send(0, 1, 0, 9, tag=5)
    x, y, z = recv(1, 0, 1, 2), recv(1, 0, 3, 4), recv(1, 0, 0, 9, tag=5)
    lonely = send(1, 0, 0, 1)
    assert matched_messages(Trace([b, y, x, z, a, other, lonely])) == [(other, z), (a, x), (b, y)]
    first = [all_reduce(0, 0, 2), all_reduce(1, 1, 2)]
    second = [all_reduce(0, 3, 4), all_reduce(1, 3, 4)]
    pair = [all_reduce(0, 5, 6, group=[0, 1]), all_reduce(1, 5, 6, group=(0, 1))]
    barrier = [Event(0, "barrier", 7, 8)]
    events = [*second, *pair, *barrier, *first]
    assert matched_collectives(Trace(events)) == [first, second, pair, barrier]


def test_a_collective_is_split_where_the_last_rank_arrived():
    trace = Trace([all_reduce(0, 0, 10, bytes=8), all_reduce(1, 4, 10), all_reduce(2, 6, 10)])
    split = with_waits(trace)
    assert [pieces(split, rank) for rank in range(3)] == [
        [("wait", 0, 6), ("all-reduce", 6, 10)],
        [("wait", 4, 6), ("all-reduce", 6, 10)],
        [("all-reduce", 6, 10)],
    ]
    wait, transfer = split.events_of(0)
    assert (wait.name, wait.lane) == ("all-reduce", "communication")
    assert wait.info == {"bytes": 8, "until": 2} and transfer.info == {"bytes": 8}
    assert with_waits(split) is split
    # Nobody waits for one that came after he had left.
    three = Trace([all_reduce(0, 0, 4), all_reduce(1, 3, 9), all_reduce(2, 8, 9)])
    assert pieces(with_waits(three), 0) == [("wait", 0, 3), ("all-reduce", 3, 4)]
    apart = [Event(rank, "F", 0, 1 + rank) for rank in range(2)]
    for events in ([all_reduce(0, 0, 2), all_reduce(1, 5, 6)], apart):
        assert with_waits(Trace(events)) == Trace(events)


def test_messages_wait_for_either_side():
    for sent, received, right in (
        ((3, 4), (0, 4), [[("send", 3, 4)], [("wait", 0, 3), ("recv", 3, 4)]]),
        ((0, 4), (3, 4), [[("wait", 0, 3), ("send", 3, 4)], [("recv", 3, 4)]]),
        ((0, 1), (1, 1), [[("send", 0, 1)], [("recv", 1, 1)]]),  # it had left when it was awaited
        ((2, 2), (0, 2), [[("send", 2, 2)], [("wait", 0, 2), ("recv", 2, 2)]]),  # takes no time
    ):
        split = with_waits(Trace([send(0, 1, *sent), recv(1, 0, *received)]))
        assert [pieces(split, rank) for rank in range(2)] == right
        # Whoever stands in a send or receive waits until the message is there.
        waits = [sum(e - s for _, s, e in one) for one in right]
        assert [each["wait"] for each in idle_by_cause(split).values()] == waits


def test_a_rank_of_a_pipeline_says_what_it_needs_and_when_it_has_finished():
    trace = pipeline(stages=2, micro_batches=1)
    waits = [e for e in with_waits(trace).events if e.kind == "wait"]
    found = {(e.rank, e.info["cause"], e.info.get("for"), e.info.get("until")) for e in waits}
    assert found == {
        (1, "dependency", "1F0", 0),
        (1, "message", "1F0", 0),
        (0, "dependency", "0B0", 1),
        (0, "message", "0B0", 1),
        (1, "finished", None, None),
    }
    assert max(e.end for e in waits) == trace.end


def test_of_no_time_there_are_no_shares():
    none, moment = Trace(), Trace([Event(0, "F", 1, 1)])
    assert bubble(none) == 0 and busy(none) == idle(none) == idle_by_cause(none) == peak(none) == {}
    assert shares(none) == {} and astuple(shares(moment)[0])[1:] == (0, 0, 0, 0)


def test_computing_is_cut_where_a_blocking_collective_goes_on():
    trace = Trace([Event(0, "F", 0, 10), Event(0, "all-reduce", 4, 6), Event(1, "F", 0, 10)])
    cut = cut_by(trace)
    assert sorted(pieces(cut, 0)) == [("F", 0, 4), ("F", 6, 10), ("all-reduce", 4, 6)]
    assert pieces(cut, 1) == [("F", 0, 10)]


def test_overlap_counts_once_and_waiting_is_no_work():
    rows = [("F", 0, 4), ("W", 1, 2), ("all-reduce", 3, 6)]
    trace = Trace([*(Event(0, *row) for row in rows), Event(0, "wait", 6, 8, lane="compute")])
    assert busy(trace) == {0: 4} and idle(trace) == {0: 4}
    causes = {cause: seconds for cause, seconds in idle_by_cause(trace)[0].items() if seconds}
    assert causes == {"communication": 2, "wait": 2}


def test_our_own_trace_without_steps_counts_from_its_first_event_to_its_last():
    rows = [(0, "input", 0, 1), (0, "F", 1, 4), (0, "all-reduce", 3, 6), (1, "F", 0, 8)]
    trace = Trace([Event(*row) for row in rows])  # the mark F hides a third of the all-reduce
    assert astuple(shares(trace)[0]) == (8, 3 / 8, 2 / 8, 1 / 8, 2 / 8)
    assert astuple(shares(trace)[1]) == (8, 1, 0, 0, 0)
    assert in_lanes(trace).events_of(0) == trace.events_of(0)


def test_steps_go_from_update_to_update_of_rank_0():
    ends = [2.0, 3.0, 5.0, 9.0]
    events = [Event(0, "update", end - 0.5, end) for end in ends]
    events += [Event(0, "F", end, end + 0.25) for end in ends]
    events += [Event(1, "update", 0.0, 8.0)]
    trace = Trace(events)
    assert measure.last_steps(trace).duration == 4.0
    two = measure.last_steps(trace, 2)
    assert two.duration == 6.0
    assert [e.kind for e in two.events_of(0)] == ["F", "update", "F", "update"]


def phase(content, letter):
    return [row for row in content["traceEvents"] if row["ph"] == letter]


TRACES = {
    "none": Trace(),
    "odd": Trace([Event(7, "F", 1 / 3, 2 / 3, "my lane", "F", {"x": [1, 2.5, None, "é"]})]),
    "uptime": Trace([Event(0, "F", 123456.789012345, 123456.789012346)], {"title": "days"}),
    "names": Trace([Event(0, "a b", 0.1, 0.1), Event(0, "a", 0.1, 0.2, name="b c")]),
    "counters": Trace([], {"n": 1}, [Counter(1, "memory", 1 / 7, 3), Counter(1, "memory", 1, 2.5)]),
    "data parallel": data_parallel(),
    "pipeline": pipeline(),
}


@pytest.mark.parametrize("name", TRACES)
def test_our_own_file_gives_back_an_equal_trace(name, tmp_path):
    for ending in ("json", "json.gz"):
        assert Trace.load(TRACES[name].save(tmp_path / f"t.{ending}")) == TRACES[name]


def test_chrome_sees_processes_threads_times_and_an_arrow_for_each_message(tmp_path):
    trace = pipeline(stages=3, micro_batches=2)
    crossing = [Event(0, "send", 9, 13), Event(0, "recv", 11, 15), Event(0, "send", 10, 12)]
    crossing.append(Event(0, "F", 20, 20.0000015, "", "x", {"tokens": 3}))
    path = trace.merged(Trace(crossing)).save(tmp_path / "t.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    named = phase(content, "M")
    names = {r["pid"]: r["args"]["name"] for r in named if r["name"] == "process_name"}
    assert names == {1: "rank 0", 2: "rank 1", 3: "rank 2"}
    threads = {r["tid"]: (r["pid"], r["args"]["name"]) for r in named if r["name"] == "thread_name"}
    both = [(pid, lane) for pid in names for lane in ("compute", "communication")]
    every = [*both[:2], (1, "communication 2"), *both[2:]]
    assert [threads[tid] for tid in sorted(threads)] == every
    order = {r["tid"]: r["args"]["sort_index"] for r in named if r["name"] == "thread_sort_index"}
    assert sorted(threads) == sorted(order, key=order.get)
    boxes = phase(content, "X")
    assert all(threads[box["tid"]][0] == box["pid"] for box in boxes)
    *_, send, nested, recv, last = sorted(boxes, key=lambda box: (box["ts"], box["pid"]))
    assert send["tid"] == nested["tid"] != recv["tid"]
    assert (last["ts"], last["dur"], last["name"], last["cat"]) == (2e7, 1.5, "F x", "F")
    assert last["args"] == {"tokens": 3} and "start_s" not in last
    tails, heads = phase(content, "s"), phase(content, "f")
    assert len(tails) == len(heads) == 2 * 2 * 2
    for tail, head in zip(tails, heads, strict=True):
        assert tail["id"] == head["id"] and head["bp"] == "e"
        assert tail["pid"] != head["pid"] and tail["ts"] <= head["ts"]
        for end, kind in ((tail, "send"), (head, "recv")):
            here = [(box["pid"], box["tid"], box["cat"]) for box in boxes
                    if box["ts"] <= end["ts"] < box["ts"] + box["dur"]]  # fmt: skip
            assert here.count((end["pid"], end["tid"], kind)) == 1


def test_every_line_is_an_event_and_all_of_it_strict_json(tmp_path):
    info = {"loss": float("nan"), "norm": np.float32(0.5), "shape": (2, 3), "dtype": np.dtype("f4")}
    trace = Trace([Event(0, "F", 0, 1, info=info)], {"limit": float("inf")})
    path = trace.save(tmp_path / "t.json")
    text = path.read_text()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert sum('"ph": "X"' in line for line in text.splitlines()) == 1
    again = Trace.load(path)
    right = {"loss": "nan", "norm": 0.5, "shape": [2, 3], "dtype": "float32"}
    assert again.events[0].info == right and again.meta == {"limit": "inf"}


def test_what_is_no_folder_of_a_run(tmp_path):
    assert "it holds no .json file" in said(Trace.load_all, tmp_path)
    assert "no trace to load: the list of files is empty" in said(Trace.load_all, [])
    there = said(Trace.load, tmp_path / "nowhere.json", error=FileNotFoundError)
    assert there.startswith("cannot read the trace") and "nowhere.json: No such" in there
    for name in "ab":
        Trace([Event(0, "F", 0, 1)]).save(tmp_path / f"{name}.json")
    there = said(Trace.load_all, tmp_path)
    assert f"rank 0 is in two files, {tmp_path / 'a.json'} and {tmp_path / 'b.json'}: give" in there


EVENT = b'[{"ph": "X", "name": "F", "ts": 1, "dur": 2, "pid": 0, "tid": 0}]'
PACKED = gzip.compress(EVENT, mtime=0)
NO_TRACE = [
    (b"  \n", "is empty: the run that should have written it did not get there"),
    (b'{"a": x}', "is no trace: it is not JSON (Expecting value: line 1 column 7"),
    (b"\x89PNG\r\n\xff", "is no trace: it is not text"),
    (PACKED[:-9] + b"\x07" * 9, "is no trace: it is not text"),
    (b'{"a": 1}', "is JSON but no Chrome trace: it has no list 'traceEvents'"),
    (EVENT.replace(b"}", b"}, 5"), "misses a field or has one of the wrong type"),
    (b'[{"ph": "X", "name": "F"}]', "is JSON but no Chrome trace: an event misses a field"),
    (EVENT.replace(b"1", b'"now"'), "has one of the wrong type (TypeError"),
    (EVENT.replace(b"1", b"NaN"), "event 'F' on rank 0 starts at nan s"),
    *[(EVENT[:size], f"is cut off after {size} bytes: copy it again") for size in (3, 15, 30, 64)],
    *[(PACKED[:size], f"is cut off after {size} bytes: copy it again") for size in (5, 40)],
]


@pytest.mark.parametrize("data, sentence", NO_TRACE)
def test_a_file_that_is_no_trace(data, sentence, tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(data)
    assert said(Trace.load, path).startswith(str(path)) and sentence in said(Trace.load, path)


def x(name, cat, start, end, tid=1, pid=1, **more):
    """An event of torch.profiler; microseconds."""
    row = {"ph": "X", "name": name, "cat": cat, "ts": start, "dur": end - start}
    return row | {"pid": pid, "tid": tid} | more


def load(rows, tmp_path, rank=0):
    info = {"rank": rank, "world_size": 2, "backend": "gloo"}
    content = {"schemaVersion": 1, "distributedInfo": info, "traceEvents": rows}
    path = tmp_path / f"step-{rank}-of-2.json"
    path.write_text(json.dumps(content))
    return Trace.load(path)


def parts(trace, rank=0):
    """The shares of a rank: computing, communication, input, idle."""
    return pytest.approx(astuple(shares(trace)[rank])[1:])


def spans(events):
    return [(e.lane, e.kind, round(e.start * 1e6), round(e.end * 1e6)) for e in events]


STEP = x("ProfilerStep#2", "user_annotation", 0, 100)
PROCESSOR = [
    x("gloo:all_reduce", "user_annotation", -30, -10, tid=9),  # before the step: not of it
    STEP,
    x("input", "user_annotation", 0, 20),
    x("aten::stack", "cpu_op", 5, 15),  # inside of the input: it belongs there
    x("forward", "user_annotation", 20, 50),
    x("DistributedDataParallel.forward", "user_annotation", 20, 49),
    x("aten::linear", "cpu_op", 20, 30),  # to 50 Python works between operators
    x("backward", "user_annotation", 50, 90),
    x("AddmmBackward0", "cpu_op", 50, 70),
    x("c10d::allreduce_", "cpu_op", 70, 74),  # only starts the all-reduce
    x("gloo:all_reduce", "user_annotation", 60, 85, tid=9),
    x("update", "user_annotation", 90, 95),
    x("Optimizer.step#Adam.step", "user_annotation", 91, 94),
]


def test_a_step_on_a_processor(tmp_path, capsys):
    trace = load([*PROCESSOR, {"ph": "i", "s": "g", "ts": 400, "name": "Window End"}], tmp_path, 1)
    assert trace.ranks == [1] and trace.meta == {"source": "torch.profiler"}
    # Computing: 20 to 70 (from 60 on an operator hides the all-reduce), and 85 to 95.
    assert (0.60, 0.15, 0.20, 0.05) == parts(trace, rank=1)
    assert shares(trace)[1].seconds == pytest.approx(100e-6)
    assert spans(in_lanes(trace).from_zero().events) == [
        ("input", "input", 0, 20),
        ("compute", "F", 20, 50),
        ("compute", "B", 50, 90),
        ("communication", "all-reduce", 60, 85),
        ("compute", "update", 90, 95),
    ]
    load(PROCESSOR, tmp_path)
    main([str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "share of the steps:"
    assert lines[1].split() == "rank ms computing communication input idle".split()
    assert lines[3].split() == "1 0.1 60.0% 15.0% 20.0% 5.0%".split()


def test_a_step_on_a_gpu_is_what_its_kernels_did(tmp_path):
    rows = [
        STEP,
        x("forward", "user_annotation", 0, 8),  # the processor only starts the kernels
        x("aten::mm", "cpu_op", 2, 7),
        x("forward", "gpu_user_annotation", 10, 45, tid=7),
        x("ampere_sgemm", "kernel", 10, 40, tid=7),
        x("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "kernel", 30, 60, tid=20),
        x("input", "user_annotation", 50, 80),
    ]
    for each in (rows, [row for row in rows if row["name"] != "forward"]):  # marked or not
        assert (0.30, 0.20, 0.20, 0.30) == parts(load(each, tmp_path))


@pytest.mark.parametrize("name", [
    "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic_4(x)",
    "ncclSendRecvKernel_copy_i8(ncclColl)", "ncclSymkDevKernel_AllGather_STMC(x)",
    "mscclKernel_Sum_half_Simple_false(x)", "nccl_of_tomorrow", "void ncclBroadcastKernel",
    "oneccl_reduce_base<float, 2, 16, 1, 1, 2>", "Memcpy PtoP (Device -> Device)",
    "nccl:send 0->1", "nccl:recv 0<-1", "nccl:coalesced", "nccl:all_reduce", "xccl:coalesced",
    "gloo:all_reduce", "gloo:sparse_all_reduce", "mpi:all_to_all", "ucc:recv",
    "oneccl_bindings_for_pytorch::allreduce",
])  # fmt: skip
def test_whatever_a_back_end_calls_a_transfer_it_is_communication(name, tmp_path):
    for cat in ("kernel", "gpu_memcpy", "user_annotation", "gpu_user_annotation", "cpu_op"):
        for work in ("kernel", "cpu_op"):  # 0 to 40 is computing, 40 to 70 is communication alone
            rows = [STEP, x("gemm", work, 0, 40), x(name, cat, 30, 70, tid=9)]
            assert (0.40, 0.30, 0, 0.30) == parts(load(rows, tmp_path)), (cat, work)
        mark = x("forward", "gpu_user_annotation", 0, 75)
        rows = [STEP, mark, x("gemm", "kernel", 0, 40), x(name, cat, 30, 70, tid=9)]
        assert (0.40, 0.30, 0, 0.30) == parts(load(rows, tmp_path)), cat


def test_messages_of_the_processor_count_beside_kernels_of_nccl(tmp_path):
    rows = [
        x("gemm", "kernel", 0, 40),
        x("ncclDevKernel_SendRecv(x)", "kernel", 40, 60),
        x("nccl:send 0->1", "user_annotation", 0, 100),  # the kernel's call: it counts as nothing
        x("gloo:barrier", "user_annotation", 60, 70),
        x("Memcpy PtoP (Device -> Device)", "gpu_memcpy", 70, 75),
        x("cudaStreamSynchronize", "cuda_runtime", 0, 100),
    ]
    assert (0.40, 0.35, 0, 0.25) == parts(load(rows, tmp_path))


def test_a_trace_without_steps_in_which_a_gpu_does_little(tmp_path):
    rows = [
        x("gemm", "kernel", 0, 4),
        x("Optimizer.step#SGD.step", "gpu_user_annotation", 1, 2),  # torch's own: no mark of work
        x("cudaDeviceSynchronize", "cuda_runtime", 0, 10_000),
    ]
    lines = table(load(rows, tmp_path)).splitlines()
    assert lines[0] == "3 events on 1 rank in 0.01 s"
    assert lines[2].split()[:2] == ["0", "0.04%"]
    assert table(Trace([Event(0, "F", 1, 1)])) == "1 event, no time between them."


def test_another_program_each_process_is_a_rank(tmp_path):
    rows = [
        {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "worker, rank 4"}},
        {"ph": "M", "name": "thread_name", "pid": 9, "tid": 2, "args": {"name": "stream 2"}},
        x("Forward 3", "", 0, 10, pid=9, args={"micro_batch": 3}),
        x("copy", "", 0, 10, 2, pid=9),
        x("all_reduce", "", 10, 15, 2, pid=9),
        x("work", "", 0, 20, pid=8),
        {"ph": "B", "name": "never closed", "ts": 31, "pid": 8, "tid": 1},
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    trace = Trace.load(tmp_path / "t.json")
    assert trace.ranks == [0, 4] and trace.meta == {"source": "Chrome trace"}
    assert {(e.rank, e.kind, e.lane, e.name) for e in trace.events_of(4)} == {
        (4, "F", "thread 1", "Forward 3"),
        (4, "copy", "stream 2", ""),
        (4, "all-reduce", "communication", "all_reduce"),
    }
    assert trace.events_of(4)[0].info == {"micro_batch": 3}
    assert spans(trace.events_of(0)) == [("compute", "work", 0, 20)]


KINDS = {
    "F": ["forward", "Forward pass 3", "F"],
    "B": ["B1", "backward"],
    "update": ["Optimizer.step#AdamW.step"],
    "step": ["ProfilerStep#2"],
    "input": ["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"],
    "all-gather": ["gloo:all_gather_into_tensor", "xccl:all_gather_into_tensor_coalesced"],
    "reduce-scatter": ["nccl:_reduce_scatter_base", "ncclSymkDevKernel_ReduceScatter_LL_sum(x)"],
    "broadcast": ["ncclKernel_Broadcast_RING_LL_Sum_int8_t"],
    "all-reduce": ["allreduce", "ncclAllReduceRingLLKernel_sum_f32(ncclColl)"],
    "barrier": ["barrier"],
    "send": ["gloo:send"],
    "recv": ["nccl:recv 0<-1"],
    None: ["Optimizer.zero_grad#AdamW.zero_grad", "aten::addmm", "c10d::allreduce_", "file_read",
           "nccl:coalesced", "ncclDevKernel_SendRecv(x)"],
}  # fmt: skip


def test_the_kind_of_an_event_follows_from_its_name(tmp_path):
    for kind, names in KINDS.items():
        trace = load([x(name, "cpu_op", i, i + 1) for i, name in enumerate(names)], tmp_path)
        assert [e.kind for e in trace.events] == [kind or name for name in names]
    assert load([x("", "cpu_op", 0, 1)], tmp_path).events[0].kind == "unnamed"


def test_merges_and_draws_and_prints(tmp_path, capsys):
    whole, folder = data_parallel(), tmp_path / "ranks"
    for rank in whole.ranks:
        Trace(whole.events_of(rank), {"rank": rank}).save(folder / f"rank{rank}.json")
    (folder / "notes.txt").write_text("not a trace")
    output, picture = tmp_path / "all.json", tmp_path / "all.svg"
    main([str(folder), "-o", str(output), "--picture", str(picture)])
    merged = Trace.load(output)
    for paths in (folder, sorted(folder.glob("*.json"))):
        assert Trace.load_all(paths).events == merged.events == whole.events
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "30 events on 3 ranks in 0.106 s"
    assert printed[1].split() == "rank busy waiting transfer input finished nothing".split()
    assert printed[2].split() == ["0", "62.3%", "22.6%", "11.3%", "3.8%", "0.0%", "0.0%"]
    assert printed[6].split() == ["0.140000", "B"]
    assert printed[-2:] == [f"trace:   {output}", f"picture: {picture}"]
