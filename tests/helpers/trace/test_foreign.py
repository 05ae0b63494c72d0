"""Chrome traces that other programs wrote."""

import json

import pytest

from helpers.trace import Trace, bubble, matched_collectives, with_waits
from helpers.trace.foreign import kind_of


def load(tmp_path, content, name="foreign.json") -> Trace:
    path = tmp_path / name
    path.write_text(json.dumps(content))
    return Trace.load(path)


def x(name, ts, dur, pid=10, tid=1, **more):
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, **more}


def torch_profile(rank, late=0):
    """What torch.profiler writes on a CPU with gloo, shortened."""
    pid = 500 + rank
    rows = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "python"}},
        x("forward", 100 + late, 50, pid, pid, cat="user_annotation"),
        x("aten::linear", 110 + late, 20, pid, pid, cat="cpu_op"),
        x("c10d::allreduce_", 155 + late, 5, pid, pid, cat="cpu_op"),
        x("gloo:all_reduce", 160 + late, 140 - late, pid, 77, cat="user_annotation"),
        x("Optimizer.step#SGD.step", 300, 10, pid, pid, cat="user_annotation"),
        x("PyTorch Profiler (0)", 90, 300, "Spans", "PyTorch Profiler", cat="Trace"),
        {"ph": "s", "id": 1, "pid": pid, "tid": pid, "ts": 100, "cat": "fwdbwd", "name": "fwdbwd"},
        {"ph": "i", "s": "g", "pid": "", "tid": "", "ts": 400, "name": "Record Window End"},
    ]
    info = {"backend": "gloo", "rank": rank, "world_size": 2}
    return {"schemaVersion": 1, "distributedInfo": info, "traceEvents": rows}


def test_torch_profiler_on_a_cpu(tmp_path):
    trace = load(tmp_path, torch_profile(rank=1))
    assert trace.ranks == [1] and trace.meta == {"source": "torch.profiler"}
    assert [(e.kind, e.lane) for e in trace.events] == [
        ("F", "compute"),
        ("aten::linear", "operators"),
        ("c10d::allreduce_", "operators"),
        ("all-reduce", "communication"),
        ("update", "compute"),
    ]
    forward = trace.events[0]
    assert (forward.name, forward.start) == ("forward", 100e-6)
    assert forward.duration == pytest.approx(50e-6)
    assert bubble(trace) == pytest.approx(150 / 210)


def test_torch_profiles_of_two_ranks_wait_for_each_other(tmp_path):
    for rank, late in ((0, 0), (1, 60)):
        (tmp_path / f"{rank}.json").write_text(json.dumps(torch_profile(rank, late)))
    trace = Trace.load_all(tmp_path)
    assert [[e.rank for e in call] for call in matched_collectives(trace)] == [[0, 1]]
    waits = [(e.rank, e.duration) for e in with_waits(trace).events if e.kind == "wait"]
    assert waits == [(0, pytest.approx(60e-6))]


def test_torch_profiler_on_a_gpu_counts_kernels_once(tmp_path):
    nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    rows = [
        x("aten::mm", 0, 5, cat="cpu_op"),
        x("forward", 0, 6, cat="user_annotation"),
        x("ampere_sgemm_128x64_tn", 2, 40, pid=0, tid=7, cat="kernel"),
        x("nccl:all_reduce", 4, 3, cat="user_annotation"),
        x(nccl, 42, 30, pid=0, tid=20, cat="kernel"),
    ]
    trace = load(tmp_path, {"schemaVersion": 1, "traceEvents": rows})
    assert [(e.kind, e.lane) for e in trace.events if e.lane in ("compute", "communication")] == [
        ("ampere_sgemm_128x64_tn", "compute"),
        ("all-reduce", "communication"),
    ]
    assert trace.ranks == [0]


def test_another_program_each_process_is_a_rank(tmp_path):
    rows = [
        {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "worker, rank 4"}},
        {"ph": "M", "name": "thread_name", "pid": 9, "tid": 2, "args": {"name": "stream 2"}},
        x("Forward 3", 0, 10, pid=9, tid=1, args={"micro_batch": 3}),
        x("copy", 0, 10, pid=9, tid=2),
        x("all_reduce", 10, 5, pid=9, tid=2),
        x("work", 0, 20, pid=8),
    ]
    trace = load(tmp_path, rows)
    assert trace.ranks == [0, 4] and trace.meta == {"source": "Chrome trace"}
    assert {(e.rank, e.kind, e.lane, e.name) for e in trace.events} == {
        (4, "F", "thread 1", "Forward 3"),
        (4, "copy", "stream 2", ""),
        (4, "all-reduce", "communication", "all_reduce"),
        (0, "work", "compute", ""),
    }
    assert trace.events_of(4)[0].info == {"micro_batch": 3}


def test_begin_and_end_make_an_event(tmp_path):
    rows = [
        {"ph": "B", "name": "outer", "ts": 0, "pid": 1, "tid": 1, "args": {"a": 1}},
        {"ph": "B", "name": "inner", "ts": 2, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 5, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 9, "pid": 1, "tid": 1, "args": {"b": 2}},
        {"ph": "E", "ts": 10, "pid": 1, "tid": 1},
        {"ph": "B", "name": "never closed", "ts": 11, "pid": 1, "tid": 1},
    ]
    trace = load(tmp_path, {"traceEvents": rows})
    assert [(e.kind, round(e.start * 1e6), round(e.end * 1e6), e.info) for e in trace.events] == [
        ("outer", 0, 9, {"a": 1, "b": 2}),
        ("inner", 2, 5, {}),
    ]


@pytest.mark.parametrize(
    "name, kind",
    [
        ("forward", "F"),
        ("Forward pass 3", "F"),
        ("F", "F"),
        ("B1", "B"),
        ("backward", "B"),
        ("Optimizer.step#AdamW.step", "update"),
        ("Optimizer.zero_grad#AdamW.zero_grad", "Optimizer.zero_grad#AdamW.zero_grad"),
        ("ProfilerStep#2", "step"),
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "input"),
        ("gloo:all_gather_into_tensor", "all-gather"),
        ("nccl:_reduce_scatter_base", "reduce-scatter"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t", "broadcast"),
        ("gloo:send", "send"),
        ("allreduce", "all-reduce"),
        ("barrier", "barrier"),
        ("aten::addmm", "aten::addmm"),
        ("c10d::allreduce_", "c10d::allreduce_"),
        ("nccl:coalesced", "nccl:coalesced"),
        ("nccl:recv 0<-1", "recv"),
        ("xccl:all_gather_into_tensor_coalesced", "all-gather"),
        ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "all-reduce"),
        ("ncclSymkDevKernel_ReduceScatter_LL_sum_f32(x)", "reduce-scatter"),
        ("ncclDevKernel_SendRecv(x)", "ncclDevKernel_SendRecv(x)"),
        ("file_read", "file_read"),
        ("", ""),
    ],
)
def test_kind_of(name, kind):
    assert kind_of(name) == kind


def test_a_profile_that_torch_wrote_just_now(tmp_path):
    torch = pytest.importorskip("torch")
    from torch.profiler import ProfilerActivity, profile, record_function

    layer = torch.nn.Linear(8, 8)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        with record_function("forward"):
            loss = layer(torch.ones(2, 8)).sum()
        with record_function("backward"):
            loss.backward()
    path = tmp_path / "torch.json"
    profiler.export_chrome_trace(str(path))
    trace = Trace.load(path)
    assert [e.kind for e in trace.events_of(0, "compute")] == ["F", "B"]
    assert any(e.kind == "aten::linear" for e in trace.events_of(0, "operators"))
    assert 0 <= bubble(trace) < 1
