"""The page's sections on newer software: what its best rows assume, experts, long sequences."""

from collections.abc import Sequence
from dataclasses import replace

from bench.cluster_model.experts import Published
from bench.cluster_model.published import llama3
from helpers.cluster.experts import experts_messages, nodes_reached, one_way_seconds
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.presets import H100, H800
from helpers.cluster.validate import Measurement
from helpers.cost import ModelConfig, MoE, flops

ASSUMED = """
## What Llama 3's rows assume

The paper leaves some sizes of its runs open. The page takes 8 chunks, because the first and the
last hold the embedding and the loss alone (section 3.3.2), and then all others have one layer;
gradients of 4 bytes, cut by FSDP (ZeRO 2); nothing recomputed; and TFLOP/s that count the causal
half of the attention scores. This is the row on 16,384 GPUs with one of these changed and nothing
refitted:

| changed | measured, s | predicted, s | error |
|---|---|---|---|
"""
VARIANTS = (
    ("nothing", {}),
    ("4 chunks", {"chunks": 4}),
    ("1 chunk", {"chunks": 1}),
    ("gradients of 2 bytes", {"fp32_gradients": False}),
    ("all scores counted", {"attention": "full"}),
)


def assumptions() -> str:
    """Return the section on Llama 3 at 8,192 tokens, each assumption changed in turn."""
    text = ASSUMED
    for words, changes in VARIANTS:
        row = llama3(**changes)[1]
        seconds, error = row.predicted(H100), row.error(H100)
        text += f"| {words} | {row.seconds:.4g} | {seconds:.4g} | {error:+.1%} |\n"
    return text


EXPERTS = """
## Experts

All at 4,096 tokens, on H100s or (the first row) H800s, whose NVLink carries 200 GB/s each way.
Assumed of all: ZeRO 1, gradients of 2 bytes, averaged beside computing; experts equally busy; with
tensor parallelism also sequence parallelism, and experts that are not cut (expert_tp 1); stages at
both ends with a layer less, where the stages do not divide the layers. Counted,
not set: the bytes by which tokens are put in the order of their experts, and those of quantization
to 8 bits; the kernels that the host starts, six of them for each expert of a device. Products with
weights in 8 bits take half the time: they reach the same share of their peak, which is
{kernels}.
A dispatch that sends a token once to a node gets 88 % of the cards' bandwidth, as its authors
measured. "Model" is in the unit of the source, of one GPU.

"""
LEFT_OUT = """
Left out: GB200, GB300, B200 and B300 (nothing measured on them has set a constant, and many of
their recipes put a step into CUDA graphs); Qwen3 235B with dropped tokens on 256 H100s (25.09,
1,204 tokens/s; its successor without dropping is above); Qwen3 235B sharded over 128 replicas
(17.6 s, an FSDP run that recomputes all); Qwen3-Next (linear attention); Mixtral 8x22B with dropped
tokens (470 TFLOP/s, the same sizes); runs whose experts are not forced into balance.
"""
DEEP = """
DeepSeek's own row, with one of its assumptions changed and nothing refitted:

| changed | error |
|---|---|
"""
DEEP_VARIANTS = (
    ("nothing", {}),
    ("1F1B, both heads on one rank, messages of the pipeline exposed", {"dualpipe": False}),
    ("experts sent before and after computing, not beside it", {"overlap_ep": False}),
    ("experts sent in 16 bits", {"dispatch_bytes": 2}),
    ("a plain all-to-all", {"dedup": False}),
    ("all products in 16 bits", {"fp8": False}),
    ("64 layers, 4 on each stage", {"layers": 64}),  # of the model; the others are of the layout
)
FSDP = """
## torchtitan, FSDP on H100

torchtitan's runs of Llama 3 (benchmarks/llama3_h100_202412_torchtitan.md at 31a17bf), of 8,192
tokens. They set nothing. Their H100s have 2.4 TB/s and are limited to 500 W, of which only the
bandwidth is in the model. Its kernels are fused, as `torch.compile` makes them; float8 doubles the
rate of products with weights, and what is multiplied is quantized first. In a pipeline FSDP keeps
the gathered weights and whole gradients for the step, which is ZeRO 1.

"""
EIGHT = """
## Dense models in 8 bits

Megatron-Bridge's runs on H100s (docs/performance-summary-archive.md at 0a25f91), of 8,192 tokens,
by three releases of the software. They set nothing: products with weights take half the time of 16
bits, and what is multiplied is quantized first. Assumed: nothing recomputed, gradients of 2 bytes.

"""
LONG = """
## Long context

Megatron counts the causal half of the scores, which its own step times confirm: 17.6 s and 276
TFLOP/s of Qwen3 235B are {zoo:.1f} GFLOP a token, and the causal half gives {causal:.1f}, all
scores {full:.1f}. Llama 3's paper doesn't say what it counts. Fused attention as fast as the last
row sets it leaves no doubt: with all scores counted, its row at 131,072 tokens would be
{llama:+.0%} away. The rows of Qwen3 are runs of one software and one layout, so the three that are
held out show less than the one of Llama.

"""
MFU = """
The same runs as MFU, by both conventions, of 989 TFLOP/s. They part with the length:

| run | all scores | causal half |
|---|---|---|
"""


def experts_text(rows: Sequence[Published]) -> str:
    """Return the section on mixtures of experts."""
    errors = [abs(rate / published - 1) for *_, published, rate in fp8_products()]
    mean = sum(errors) / len(errors)
    words = f"within {max(errors):.0%} of DeepGEMM's products below, and {mean:.0%} on average"
    text = section(EXPERTS.format(kernels=words), rows)
    return text + deepseek_changed(rows[0]) + LEFT_OUT + kernels()


def section(words: str, rows: Sequence[Published]) -> str:
    """Return a section of rows: `FSDP` or `EIGHT`, what was measured, what was missed and why."""
    return words + _table(rows) + _missed(rows)


def _missed(rows: Sequence[Published]) -> str:
    near = [row for row in rows if abs(row.error) <= 0.15]
    text = f"\n{len(near)} of {len(rows)} rows are within 15 %. Of the others:\n\n"
    for why in dict.fromkeys(row.missed for row in rows if row.missed):
        some = [row for row in rows if row.missed == why]
        figures = " and ".join(_figure(row.figure, row.unit) for row in some)
        text += f"- {some[0].row.name}, {figures}: {why}.\n"
    return text


def deepseek_changed(deepseek: Published) -> str:
    """Return the table of DeepSeek-V3's own run with each assumption changed in turn."""
    row, text = deepseek.row, DEEP
    for words, change in DEEP_VARIANTS:
        part = "model" if "layers" in change else "layout"
        other = replace(row, **{part: replace(getattr(row, part), **change)})
        text += f"| {words} | {other.error(deepseek.machine):+.1%} |\n"
    return text


def long_context_text(rows: Sequence[Published]) -> str:
    """Return the section on long sequences."""
    qwen = rows[-1].row.model
    causal, full = (flops(qwen, 1, 4096, how).model / 4096e9 for how in ("causal", "full"))
    wrong = llama3("full")[2].error(H100)
    zoo = 276e12 * 256 * 17.6 / (2048 * 4096) / 1e9
    text = LONG.format(zoo=zoo, causal=causal, full=full, llama=wrong) + _table(rows) + MFU
    for row in (llama3()[1], *(each.row for each in rows)):
        room = row.layout.gpus * row.seconds * H100.peak
        both = (
            flops(row.model, row.layout.batch, row.layout.sequence, how).model / room
            for how in ("full", "causal")
        )
        shares = " | ".join(f"{share:.1%}" for share in both)
        text += f"| {_named(row)} | {shares} |\n"
    return text


def _figure(value: float, unit: str) -> str:
    return f"{value:.1f} s" if unit == "s" else f"{value:,.0f} {unit}"


def _named(row: Measurement) -> str:
    length = f"{row.layout.sequence:,} tokens"
    return row.name if length in row.name or "4,096" in length else f"{row.name}, {length}"


def _table(rows: Sequence[Published]) -> str:
    text = "| run | GPUs | batch | layout | published | model | error | constants | assumed |\n"
    text += "|---|---|---|---|---|---|---|---|---|\n"
    for each in rows:
        row = each.row
        cells = (
            *(
                _named(row),
                row.layout.gpus,
                row.layout.batch,
                row.layout,
                _figure(each.figure, each.unit),
            ),
            *(_figure(each.predicted, each.unit), f"{each.error:+.1%}"),
            *(role(each), each.assumed),
        )
        text += f"| {' | '.join(map(str, cells))} |\n"
    return text


def role(row: Published) -> str:
    """Return what a row is for: what it sets, or that it is held out."""
    if row.sets == "matmul":
        return "sets `matmul`, judged by the other three"
    return f"sets `{row.sets}`" if row.sets else "held out"


# Groups, rows of each, columns, inner dimension, TFLOP/s: DeepGEMM's README of its first release,
# FP8 on an H800 (https://github.com/deepseek-ai/DeepGEMM).
_FP8 = (
    (1, 4096, 2112, 7168, 1058),
    (1, 4096, 24576, 1536, 990),
    (1, 4096, 7168, 16384, 1358),
    (1, 4096, 4096, 7168, 1304),
    (1, 4096, 7168, 2048, 1025),
    (4, 8192, 4096, 7168, 1297),
    (4, 8192, 7168, 2048, 1099),
    (8, 4096, 4096, 7168, 1288),
    (8, 4096, 7168, 2048, 1093),
)
# Ranks, GB/s of the dispatch, and whether it has set the share: DeepEP, docs/legacy.md at 0297fc8.
_DISPATCH = ((8, 153, False), (16, 43, False), (32, 58, True), (64, 51, True))
KERNELS = """
Kernels of DeepSeek's, on H800s. FP8 products of its shapes, and the dispatch of 4,096 tokens in
their training ("bandwidth" as they count it: what stays on the own node is in it):

| kernel | published | model | difference | |
|---|---|---|---|---|
"""


def fp8_products(machine: Machine = H800) -> list[tuple[int, int, int, int, float, float]]:
    """Return published products in 8 bits: sizes, TFLOP/s published, TFLOP/s of the model."""
    rows = []
    for groups, m, n, k, rate in _FP8:
        seconds = machine.matmul_seconds(m, n, k, groups, machine.eight)
        rows.append((groups, m, n, k, rate, 2e-12 * groups * m * n * k / seconds))
    return rows


def dispatches(machine: Machine = H800) -> list[tuple[int, float, float, bool]]:
    """Return published dispatches: ranks, GB/s published, GB/s of the model, whether it set one."""
    moe, rows = MoE(256, 8, 2048, nodes=4), []
    model = ModelConfig("llama", 7168, 1, 1, 1, 1, 1, 1, moe=moe)
    for ranks, rate, sets in _DISPATCH:
        layout = Layout(ranks, 4096, dp=ranks, ep=ranks, dedup=True, dispatch_bytes=1)
        seconds = one_way_seconds(machine, *experts_messages(model, layout, machine)[0])
        there = 8 * 7 / 8 if ranks == 8 else nodes_reached(moe, ranks // 8)
        rows.append((ranks, rate, there * 4096 * 7168 / seconds / 1e9, sets))
    return rows


def kernels() -> str:
    """Return the table of published kernels."""
    text = KERNELS
    for groups, m, n, k, published, rate in fp8_products():
        many = f"{groups} x " if groups > 1 else ""
        cells = f"{many}({m} x {k}) ({k} x {n})", f"{published} TFLOP/s", f"{rate:.0f} TFLOP/s"
        text += f"| {' | '.join(cells)} | {rate / published - 1:+.0%} | held out |\n"
    for ranks, published, rate, sets in dispatches():
        cells = f"dispatch to {ranks} ranks", f"{published} GB/s", f"{rate:.0f} GB/s"
        how = "set the 88 %" if sets else "held out"
        text += f"| {' | '.join(cells)} | {rate / published - 1:+.0%} | {how} |\n"
    return text
