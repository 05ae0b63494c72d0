"""Measured iterations by source, as rows: model, layout, seconds.

The rows of arXiv 2205.05198 are in `helpers.cluster.validate`, because a lesson shows them.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from helpers.cluster.layout import Layout
from helpers.cluster.settings import MODELS
from helpers.cluster.validate import Measurement
from helpers.cost import ModelConfig, flops, gpt

# Software of today: fused attention, a sharded optimizer, collectives beside computing.
NEWEST = {"flash": True, "zero": 1, "overlap_tp": True, "overlap_dp": True}
LLAMA_8B, LLAMA_70B = MODELS["Llama 3 8B"], MODELS["Llama 3 70B"]
LLAMA_405B = ModelConfig("llama", 16384, 126, 128, 8, 128, 53248, 128256, 8192)


def read_rows(lines: Iterable[str]) -> list[Measurement]:
    """Read rows of ten numbers, as in `measured_a100.csv`, separated by spaces or commas.

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
    rows = Path(__file__).with_name("measured_a100.csv").read_text(encoding="utf-8")
    return read_rows(rows.splitlines())


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


# Sequence, data and context parallel, batch, TFLOP/s a GPU (arXiv 2407.21783, table 4).
_LLAMA = ((8192, 64, 1, 2048, 430), (8192, 128, 1, 2048, 400), (131072, 8, 16, 128, 380))


def llama3(attention: str = "causal", **changes) -> list[Measurement]:
    """Return table 4 of arXiv 2407.21783: 405B on H100s, 126 layers, TP 8, PP 16.

    By its section 3.3.2 the first and the last stage have a layer less, and their first and last
    chunks the embedding and the loss alone: so a chunk is one layer, and a rank has 8. FSDP cuts
    gradients and optimizer, leaves the weights whole, and reduces gradients in 32 bits.

    attention: which FLOPs its TFLOP/s count. The paper doesn't say; its third row comes out with
    the causal half, and is a quarter away with all scores.
    changes: of the layout.
    """
    rows = []
    for sequence, dp, cp, batch, rate in _LLAMA:
        layout = Layout(
            *(batch, sequence, dp, 16, 8, 8, 1, "none"),
            **NEWEST | {"zero": 2, "fp32_gradients": True, "uneven": True},
            sequence_parallel=True,
            cp=cp,
            context="gather",
        )
        layout = replace(layout, **changes)
        work = flops(LLAMA_405B, batch, sequence, attention).model
        name = f"405B on {layout.gpus:,} GPUs" + (f", {sequence:,} tokens" if cp > 1 else "")
        rows.append(Measurement(name, LLAMA_405B, layout, work / (layout.gpus * rate * 1e12)))
    return rows
