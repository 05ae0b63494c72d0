"""Measured iterations by source, as rows: model, layout, seconds.

The rows of arXiv 2205.05198 are in `helpers.cluster.validate`, because a lesson shows them.
"""

from collections.abc import Iterable
from dataclasses import replace

from bench.cluster_model.measured_a100 import ROWS
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.presets import H100
from helpers.cluster.validate import Measurement
from helpers.cost import ModelConfig, flops, gpt


def read_rows(lines: Iterable[str]) -> list[Measurement]:
    """Read rows of ten numbers, as in `measured_a100`, separated by spaces or commas.

    A leading column with the number of GPUs, as in the published table, is allowed; lines that do
    not begin with a digit are skipped.

    Raises:
        ValueError: if a line cannot be read; the message quotes it.
    """
    rows = []
    for line in lines:
        if not line[:1].isdigit():
            continue
        try:
            *sizes, milliseconds = map(float, line.replace(",", " ").split())
            b, mb, h, a, layers, s, t, d, p = map(int, sizes[-9:])
        except ValueError:
            raise ValueError(
                f"{line.strip()!r} is not a row: write batch, micro-batch, hidden, heads, layers, "
                "sequence, tensor, data and pipeline parallel, milliseconds"
            ) from None
        layout = Layout(b, s, d, p, t, micro_batch=mb, fp32_gradients=True)
        rows.append(Measurement("", gpt(h, layers, a, s), layout, milliseconds / 1e3))
    return rows


def vtrain() -> list[Measurement]:
    """Return the 140 rows on which the constants are fitted."""
    return read_rows(ROWS.splitlines())


# Billions of parameters, heads, hidden, layers, TP, PP, GPUs, batch, micro-batch, chunks, and
# TFLOP/s a GPU (arXiv 2104.04473, table 1); micro-batches, chunks and "torch" (gradients are
# averaged during the backward pass) by examples/sc21/run_table_1.sh of Megatron-LM.
_MEGATRON = (
    (1.7, 24, 2304, 24, 1, 1, 32, 512, 16, 1, 137, "torch"),
    (3.6, 32, 3072, 30, 2, 1, 64, 512, 16, 1, 138, "torch"),
    (7.5, 32, 4096, 36, 4, 1, 128, 512, 16, 1, 142, "torch"),
    (18.4, 48, 6144, 40, 8, 1, 256, 1024, 8, 1, 135, "torch"),
    (39.1, 64, 8192, 48, 8, 2, 512, 1536, 4, 1, 138, "local"),
    (76.1, 80, 10240, 60, 8, 4, 1024, 1792, 2, 3, 140, "local"),
    (145.6, 96, 12288, 80, 8, 8, 1536, 2304, 2, 2, 148, "local"),
    (310.1, 128, 16384, 96, 8, 16, 1920, 2160, 1, 2, 155, "local"),
    (529.6, 128, 20480, 105, 8, 35, 2520, 2520, 1, 3, 163, "local"),
    (1008.0, 160, 25600, 128, 8, 64, 3072, 3072, 1, 1, 163, "local"),
)


def megatron() -> list[Measurement]:
    """Return table 1 of arXiv 2104.04473; its TFLOP/s (with recomputation) give the seconds."""
    rows = []
    for billions, a, h, layers, t, p, gpus, batch, mb, v, rate, ddp in _MEGATRON:
        model = gpt(h, layers, a)
        layout = Layout(batch, 2048, gpus // (t * p), p, t, v, mb, overlap_dp=ddp == "torch")
        seconds = flops(model, batch).hardware("full") / (gpus * rate * 1e12)
        rows.append(Measurement(f"{billions:g}B", model, layout, seconds))
    return rows


def llama3() -> list[Measurement]:
    """Return table 4 of arXiv 2407.21783: 405B on H100s, 126 layers, TP 8, PP 16.

    By its section 3.3.2 the first and the last stage have a layer less, and their first and last
    chunks the embedding and the loss alone: so a chunk is one layer, and a rank has 8. FSDP cuts
    gradients and optimizer, leaves the weights whole, and reduces gradients in 32 bits.
    """
    model = _llama(16384, 126, 128, 53248)
    rows = []
    for dp, batch, rate in ((64, 2048, 430), (128, 2048, 400)):
        layout = Layout(
            *(batch, 8192, dp, 16, 8, 8, 1, "none"),
            **FSDP | {"zero": 2},
            sequence_parallel=True,
            overlap_tp=True,
            uneven=True,
        )
        seconds = flops(model, batch).model / (layout.gpus * rate * 1e12)
        rows.append(Measurement(f"405B on {layout.gpus:,} GPUs", model, layout, seconds))
    return rows


# Name, how, GPUs, data parallel, PP, TP, chunks, micro-batch, batch, tokens/s a GPU.
_TORCHTITAN = (
    ("8B", "eager", 8, 8, 1, 1, 1, 2, 16, 5762),
    ("8B", "compile", 8, 8, 1, 1, 1, 2, 16, 6667),
    ("8B", "compile, float8", 8, 8, 1, 1, 1, 2, 16, 8532),
    ("8B", "eager", 128, 128, 1, 1, 1, 2, 256, 5605),
    ("8B", "compile", 128, 128, 1, 1, 1, 2, 256, 6514),
    ("8B", "compile, float8", 128, 128, 1, 1, 1, 2, 256, 8380),
    ("70B", "compile, float8", 256, 32, 1, 8, 1, 16, 512, 829),
    ("70B", "compile, float8, async TP", 256, 32, 1, 8, 1, 16, 512, 876),
    ("405B", "compile, float8, async TP", 512, 8, 8, 8, 1, 4, 256, 100),
    ("405B", "compile, float8, async TP", 512, 8, 8, 8, 2, 4, 256, 128),
)
FSDP = {"flash": True, "zero": 3, "overlap_dp": True, "fp32_gradients": True}


def torchtitan() -> list[tuple[Measurement, Machine]]:
    """Return tables 1, 3, 4 and 5 of torchtitan's benchmark of December 2024, and their machines.

    https://github.com/pytorch/torchtitan at 31a17bf, benchmarks/llama3_h100_202412_torchtitan.md:
    H100s of 96 GB with 2.4 TB/s, at 500 W. 8B: selective checkpointing by "op", as in its
    llama3_8b.toml; the others full. In a pipeline FSDP keeps gathered weights and whole gradients
    for the step, which is ZeRO 1; there are as many micro-batches as stages (pipelining_utils.py).
    The source doesn't say how many chunks its interleaved row has; torch's default is 2.

    float8: products at twice the rate, those of attention too; casts aren't counted.
    """
    sizes = {"8B": (4096, 32, 32, 14336), "70B": (8192, 80, 64, 28672)}
    sizes |= {"405B": (16384, 126, 128, 53248)}
    rows, half = [], replace(H100, memory=96e9, memory_bandwidth=2.4e12)
    for name, how, gpus, dp, p, t, v, mb, batch, rate in _TORCHTITAN:
        layout = Layout(
            *(batch, 8192, dp, p, t, v, mb, "op" if name == "8B" else "full"),
            **FSDP | {"zero": 3 if p == 1 else 1},
            sequence_parallel=t > 1,
            overlap_tp="async TP" in how,
            uneven=p > 1,
        )
        machine = replace(half, peak=2 * half.peak) if "float8" in how else half
        seconds = batch * 8192 / (gpus * rate)
        rows.append((Measurement(f"{name}, {how}", _llama(*sizes[name]), layout, seconds), machine))
    return rows


def _llama(hidden: int, layers: int, heads: int, intermediate: int) -> ModelConfig:
    """Return a Llama 3, which has 8 heads of keys and values, and 128,256 words."""
    return ModelConfig("llama", hidden, layers, heads, 8, 128, intermediate, 128256, 8192)
