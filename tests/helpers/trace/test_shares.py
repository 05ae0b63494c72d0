"""What share of a step was what, counted on paper; and python -m helpers.trace."""

import json
from dataclasses import astuple

import pytest

from helpers.trace import Event, Trace, in_lanes, shares
from helpers.trace.__main__ import main, table
from helpers.trace.examples import data_parallel


def x(name, cat, start, end, tid=1):
    """An event of torch.profiler; microseconds."""
    return {"ph": "X", "name": name, "cat": cat, "ts": start, "dur": end - start, "pid": 1} | {
        "tid": tid
    }


def profile_of(rows, rank=0):
    info = {"rank": rank, "world_size": 2, "backend": "gloo"}
    return {"schemaVersion": 1, "distributedInfo": info, "traceEvents": rows}


def load(rows, tmp_path, rank=0):
    path = tmp_path / f"step-{rank}-of-2.json"
    path.write_text(json.dumps(profile_of(rows, rank)))
    return Trace.load(path)


def parts(trace, rank=0):
    return pytest.approx(astuple(shares(trace)[rank])[1:])


PROCESSOR = [
    x("gloo:all_reduce", "user_annotation", -30, -10, tid=9),  # before the step: not of it
    x("ProfilerStep#2", "user_annotation", 0, 100),
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


def test_a_step_on_a_processor(tmp_path):
    trace = load(PROCESSOR, tmp_path)
    # Computing: 20 to 70 (from 60 on an operator hides the all-reduce), and 85 to 95.
    assert (0.60, 0.15, 0.20, 0.05) == parts(trace)
    assert shares(trace)[0].seconds == pytest.approx(100e-6)


def test_the_lanes_of_that_step(tmp_path):
    trace = in_lanes(load(PROCESSOR, tmp_path)).from_zero()
    assert [(e.lane, e.kind, round(e.start * 1e6), round(e.end * 1e6)) for e in trace.events] == [
        ("input", "input", 0, 20),
        ("compute", "F", 20, 50),
        ("compute", "B", 50, 90),
        ("communication", "all-reduce", 60, 85),
        ("compute", "update", 90, 95),
    ]


def test_a_step_on_a_gpu_is_what_its_kernels_did(tmp_path):
    rows = [
        x("ProfilerStep#2", "user_annotation", 0, 100),
        x("forward", "user_annotation", 0, 8),  # the processor only starts the kernels
        x("aten::mm", "cpu_op", 2, 7),
        x("forward", "gpu_user_annotation", 10, 45, tid=7),
        x("ampere_sgemm", "kernel", 10, 40, tid=7),
        x("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "kernel", 30, 60, tid=20),
        x("input", "user_annotation", 50, 80),
    ]
    trace = load(rows, tmp_path)
    assert (0.30, 0.20, 0.20, 0.30) == parts(trace)
    without_marks = load([r for r in rows if r["name"] != "forward"], tmp_path)
    assert (0.30, 0.20, 0.20, 0.30) == parts(without_marks)


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
    step = x("ProfilerStep#2", "user_annotation", 0, 100)
    for cat in ("kernel", "gpu_memcpy", "user_annotation", "gpu_user_annotation", "cpu_op"):
        for work in ("kernel", "cpu_op"):  # 0 to 40 is computing, 40 to 70 is communication alone
            rows = [step, x("gemm", work, 0, 40), x(name, cat, 30, 70, tid=9)]
            assert (0.40, 0.30, 0, 0.30) == parts(load(rows, tmp_path)), (cat, work)
        mark = x("forward", "gpu_user_annotation", 0, 75)
        rows = [step, mark, x("gemm", "kernel", 0, 40), x(name, cat, 30, 70, tid=9)]
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


def test_files_of_an_older_torch(tmp_path):
    rows = [
        x("ProfilerStep#2", "Operator", 0, 100),
        x("aten::mm", "Operator", 0, 90),
        x("gemm", "Kernel", 0, 40),
        x("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(x)", "Kernel", 30, 70),
    ]
    assert (0.40, 0.30, 0, 0.30) == parts(load(rows, tmp_path))


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
    steps = [x("ProfilerStep#2", "user_annotation", 0, 10_000), *rows]
    assert table(load(steps, tmp_path)).split()[-4] == "0.04%"


def test_our_own_trace_without_steps_counts_from_its_first_event_to_its_last():
    trace = Trace(
        [
            Event(0, "input", 0, 1),
            Event(0, "F", 1, 4),
            Event(0, "all-reduce", 3, 6),  # the mark hides the first third of it
            Event(1, "F", 0, 8),
        ]
    )
    assert (3 / 8, 2 / 8, 1 / 8, 2 / 8) == parts(trace)
    assert (1, 0, 0, 0) == parts(trace, rank=1)
    assert in_lanes(trace).events_of(0) == trace.events_of(0)


def test_nothing_has_no_shares():
    assert shares(Trace([])) == {}
    assert (0, 0, 0, 0) == pytest.approx(astuple(shares(Trace([Event(0, "F", 1, 1)]))[0])[1:])


def test_the_program_prints_the_shares_of_a_profile(tmp_path, capsys):
    load(PROCESSOR, tmp_path)
    load(PROCESSOR, tmp_path, rank=1)
    assert main([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "share of the steps:"
    assert lines[1].split() == "rank ms computing communication input idle".split()
    assert lines[3].split() == "1 0.1 60.0% 15.0% 20.0% 5.0%".split()
    assert "share of the steps" not in table(Trace([Event(0, "F", 0, 1)]))


@pytest.fixture
def folder(tmp_path):
    whole = data_parallel()
    for rank in whole.ranks:
        Trace(whole.events_of(rank)).save(tmp_path / "ranks" / f"rank{rank}.json")
    return tmp_path / "ranks"


def test_merges_and_draws_and_prints(folder, tmp_path, capsys):
    output, picture = tmp_path / "all.json", tmp_path / "all.svg"
    assert main([str(folder), "-o", str(output), "--picture", str(picture)]) == 0
    assert Trace.load(output).ranks == [0, 1, 2]
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "30 events on 3 ranks in 0.106 s"
    assert printed[1].split() == "rank busy waiting transfer input finished nothing".split()
    assert printed[2].split() == ["0", "62.3%", "22.6%", "11.3%", "3.8%", "0.0%", "0.0%"]
    assert printed[-2:] == [f"trace:   {output}", f"picture: {picture}"]
