"""A training step of a LLaMA on a GPU, at several widths: its kernels, and when each was launched.

    python on_gpu.py        leaves gpu_steps.json.gz, which lesson 11 reads

Rank n of the trace is the n-th run. `seconds` is the mean of undisturbed steps; the profiler
records one more. A run with a graph replays the step as a CUDA graph: one launch for all kernels.
"""

import json
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from helpers.trace import Event, Trace
from simplellm.llama import CausalLLama, LLama
from simplellm.losses import causalLLMLoss

LAYERS, VOCABULARY, BATCH, LENGTH, HEAD = 8, 32_000, 2, 1024, 64
RUNS = ((256, False), (256, True), (1024, False), (2048, False), (4096, False))  # width, graph
PRODUCTS, ATTENTION = ("gemm", "nvjet", "cutlass"), ("flash", "fmha", "attention")


def make_step(width, device="cuda"):
    """A function that takes one step in bfloat16, always with the same batch."""
    torch.manual_seed(0)
    sizes = dict(dmodel=width, num_heads=width // HEAD, hidden_dim=3 * width, n_layers=LAYERS)
    net = LLama(CausalLLama, VOCABULARY, device=device, ctx_size=LENGTH, **sizes).bfloat16()
    fast = dict(fused=True, capturable=True) if device == "cuda" else {}
    optimizer = torch.optim.AdamW(net.parameters(), **fast)
    ids = torch.randint(VOCABULARY, (BATCH, LENGTH), device=device)

    def step():
        optimizer.zero_grad()
        causalLLMLoss(net(ids), ids, VOCABULARY).backward()
        optimizer.step()

    return step


def captured(step):
    """The step as a CUDA graph, after some on the side: what is made once must not be in it."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def seconds_of(step, count=20):
    """Mean seconds of a step, measured on the GPU."""
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for number in range(count + 5):
        if number == 5:
            begun.record()
        step()
    ended.record()
    ended.synchronize()
    return begun.elapsed_time(ended) / 1e3 / count


def kind_of(kernel):
    """What a kernel is for, by its name."""
    name = kernel.lower()
    if "adam" in name or "multi_tensor" in name:
        return "update"
    kinds = (("products", PRODUCTS), ("attention", ATTENTION))
    return next((kind for kind, words in kinds if any(word in name for word in words)), "other")


def kernels(step, rank):
    """The kernels of one step as events; `launched`: when the program asked for it."""
    with profile(activities=[ProfilerActivity.CUDA]) as running:
        step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        running.export_chrome_trace(str(path))
        rows = json.loads(path.read_text())["traceEvents"]
    calls = {
        row["args"]["correlation"]: row["ts"]
        for row in rows
        if row.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in row["args"]
    }
    found = sorted((r for r in rows if r.get("cat") == "kernel"), key=lambda row: row["ts"])
    zero = min(calls[row["args"]["correlation"]] for row in found)
    for row in found:
        start = (row["ts"] - zero) / 1e6
        launched = (calls[row["args"]["correlation"]] - zero) / 1e6
        name = row["name"].removeprefix("void ").replace("(anonymous namespace)::", "")
        name = name.split("<")[0].split("(")[0][:40]
        facts = {"launched": round(launched, 7)}
        yield Event(
            rank, kind_of(row["name"]), start, start + row["dur"] / 1e6, "compute", name, facts
        )


def recorded(path):
    """Take all runs, and save their trace."""
    events, runs = [], []
    for rank, (width, graph) in enumerate(RUNS):
        step = make_step(width)
        step = captured(step) if graph else step
        runs.append(dict(width=width, graph=graph, seconds=seconds_of(step)))
        events += kernels(step, rank)
        print(runs[-1], sum(e.duration for e in events if e.rank == rank), flush=True)
        del step
        torch.cuda.empty_cache()
    shape = dict(layers=LAYERS, vocabulary=VOCABULARY, batch=BATCH, length=LENGTH)
    gpu = torch.cuda.get_device_name()
    Trace(events, dict(shape, gpu=gpu, torch=torch.__version__, runs=runs)).save(path)


if __name__ == "__main__":
    recorded(Path(__file__).with_name("gpu_steps.json.gz"))
