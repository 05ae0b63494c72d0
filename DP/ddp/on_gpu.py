"""A training step of a LLaMA on a GPU, at several widths: its kernels, and when each was launched.

    python on_gpu.py        leaves gpu_steps.json.gz, which lesson 11 reads

Rank n of the trace is the n-th run. `seconds` is the mean of undisturbed steps; the profiler
records one more. A run with a graph replays the step as a CUDA graph: one launch for all kernels.
"""

import json
import re
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from helpers.trace import Event, Trace
from simplellm.llama import CausalLLama, LLama
from simplellm.losses import causalLLMLoss

LAYERS, VOCABULARY, BATCH, LENGTH, HEAD = 8, 32_000, 2, 1024, 64
RUNS = ((256, False), (256, True), (1024, False), (2048, False), (4096, False))  # width, graph
# What a kernel is for, by its name; the first that fits.
KINDS = {
    "update": "adam|multi_tensor",
    "products": "gemm|nvjet|cutlass",
    "attention": "flash|fmha|attention",
    "other": "",
}


def make_step(width, device="cuda"):
    """Return a function that takes one step in bfloat16, always with the same batch."""
    torch.manual_seed(0)
    sizes = dict(dmodel=width, num_heads=width // HEAD, hidden_dim=3 * width, n_layers=LAYERS)
    net = LLama(CausalLLama, VOCABULARY, device=device, ctx_size=LENGTH, **sizes).bfloat16()
    on_gpu = device == "cuda"
    optimizer = torch.optim.AdamW(net.parameters(), fused=on_gpu, capturable=on_gpu)
    ids = torch.randint(VOCABULARY, (BATCH, LENGTH), device=device)

    def step():
        optimizer.zero_grad()
        causalLLMLoss(net(ids), ids, VOCABULARY).backward()
        optimizer.step()

    return step


def captured(step):
    """Return the step as a CUDA graph, after some on the side: what is made once isn't in it."""
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
    """Return the mean seconds of a step, measured on the GPU."""
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for number in range(count + 5):
        if number == 5:
            begun.record()
        step()
    ended.record()
    ended.synchronize()
    return begun.elapsed_time(ended) / 1e3 / count


def kernels(step, rank):
    """Yield the kernels of one step as events; `launched`: when the program asked for it."""
    with profile(activities=[ProfilerActivity.CUDA]) as running:
        step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        running.export_chrome_trace(str(path))
        rows = [row for row in json.loads(path.read_text())["traceEvents"] if "args" in row]
    calls = {r["args"].get("correlation"): r["ts"] for r in rows if "cuda_" in r.get("cat", "")}
    found = sorted((r for r in rows if r.get("cat") == "kernel"), key=lambda row: row["ts"])
    zero = min(calls[row["args"]["correlation"]] for row in found)
    for row in found:
        start = (row["ts"] - zero) / 1e6
        launched = round((calls[row["args"]["correlation"]] - zero) / 1e6, 7)
        kind = next(k for k, words in KINDS.items() if re.search(words, row["name"], re.IGNORECASE))
        name = re.sub(r"^void |\(anonymous namespace\)::|[<(].*", "", row["name"])[:40]
        end = start + row["dur"] / 1e6
        yield Event(rank, kind, start, end, "compute", name, {"launched": launched})


if __name__ == "__main__":
    events, runs = [], []
    for rank, (width, graph) in enumerate(RUNS):
        step = captured(make_step(width)) if graph else make_step(width)
        runs.append(dict(width=width, graph=graph, seconds=seconds_of(step)))
        events += kernels(step, rank)
        print(runs[-1], flush=True)
        del step
        torch.cuda.empty_cache()
    facts = dict(layers=LAYERS, vocabulary=VOCABULARY, batch=BATCH, length=LENGTH, runs=runs)
    facts |= dict(gpu=torch.cuda.get_device_name(), torch=torch.__version__)
    Trace(events, facts).save(Path(__file__).with_name("gpu_steps.json.gz"))
