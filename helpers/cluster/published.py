"""Measured iterations as rows: model, layout, machine, seconds; by source."""

from collections.abc import Iterable
from dataclasses import dataclass

from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.measured_a100 import ROWS
from helpers.cluster.parts import parts
from helpers.cluster.presets import A100
from helpers.cost import ModelConfig, flops, gpt


@dataclass(frozen=True)
class Row:
    """One measured iteration. name: what the source calls it. seconds: of one step."""

    name: str
    model: ModelConfig
    layout: Layout
    seconds: float

    def predicted(self, machine: Machine) -> float:
        """Seconds of the step by the closed form."""
        return parts(self.model, self.layout, machine).seconds(self.layout)

    def error(self, machine: Machine) -> float:
        """Predicted over measured, minus 1."""
        return self.predicted(machine) / self.seconds - 1


def read_rows(lines: Iterable[str]) -> list[Row]:
    """Rows of ten numbers, as in `measured_a100`, between spaces or commas.

    A table with a column for the GPUs in front, as the source publishes it, is read too; lines
    that do not begin with a digit are left out. ValueError names a line that cannot be read.
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
                f"{line.strip()!r} is no row: write batch, micro-batch, hidden, heads, layers, "
                "sequence, tensor, data and pipeline parallel, milliseconds"
            ) from None
        layout = Layout(b, s, d, p, t, micro_batch=mb, fp32_gradients=True)
        rows.append(Row("", gpt(h, layers, a, s), layout, milliseconds / 1e3))
    return rows


def vtrain() -> list[Row]:
    """The 140 rows that the constants are set on."""
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


def megatron() -> list[Row]:
    """arXiv 2104.04473, table 1: seconds follow from the TFLOP/s, recomputation among them."""
    rows = []
    for billions, a, h, layers, t, p, gpus, batch, mb, v, rate, ddp in _MEGATRON:
        model = gpt(h, layers, a)
        layout = Layout(batch, 2048, gpus // (t * p), p, t, v, mb, overlap_dp=ddp == "torch")
        seconds = flops(model, batch).hardware("full") / (gpus * rate * 1e12)
        rows.append(Row(f"{billions:g}B", model, layout, seconds))
    return rows


# Name, hidden, layers, heads, PP, batch, micro-batch, chunks, seconds with full recomputation, and
# with sequence parallelism and selective recomputation (arXiv 2205.05198, table 5).
_RECOMPUTE = (
    ("22B", 6144, 48, 64, 1, 4, 4, 1, 1.42, 1.10),
    ("175B", 12288, 96, 96, 8, 64, 1, 3, 18.13, 13.75),
    ("530B", 20480, 105, 128, 35, 280, 1, 3, 49.05, 37.83),
    ("1T", 25600, 128, 160, 64, 512, 1, 1, 94.42, 71.49),
)
NEWER = {"sequence_parallel": True, "recompute": "selective"}


def recomputation() -> list[Row]:
    """arXiv 2205.05198, table 5: TP 8, no data parallelism."""
    rows = []
    for name, h, layers, a, p, batch, mb, v, full, selective in _RECOMPUTE:
        for how, seconds, options in (("full", full, {}), ("selective", selective, NEWER)):
            layout = Layout(batch, 2048, 1, p, 8, v, mb, overlap_tp=True, **options)
            rows.append(Row(f"{name}, {how}", gpt(h, layers, a), layout, seconds))
    return rows


# One layer of the 22B model: how, options, milliseconds forward and backward (table 4).
_LAYER = (
    ("nothing recomputed", {"recompute": "none"}, 7.7, 11.9),
    ("sequence parallel", {"recompute": "none", "sequence_parallel": True}, 7.2, 11.8),
    ("full recomputation", {}, 7.7, 19.5),
    ("selective", {"recompute": "selective"}, 7.7, 13.2),
    ("selective, sequence parallel", NEWER, 7.2, 13.1),
)


def layers() -> list[tuple[str, ModelConfig, Layout, float, float]]:
    """arXiv 2205.05198, table 4: name, model, layout, seconds forward, seconds backward."""
    model = gpt(6144, 48, 64)
    return [
        (name, model, Layout(4, tp=8, micro_batch=4, overlap_tp=True, **options), f / 1e3, b / 1e3)
        for name, options, f, b in _LAYER
    ]


MACHINE_OF_THE_PAPERS = A100  # Selene: eight network cards of 25 GB/s for eight devices


def llama3() -> list[Row]:
    """arXiv 2407.21783, table 4: 405B on H100s, 128 layers in place of 126 and two ends.

    How its pipeline was interleaved is not said; 8 chunks of one layer are assumed.
    """
    model = ModelConfig("llama", 16384, 128, 128, 8, 128, 53248, 128256, 8192)
    rows = []
    for dp, batch, rate in ((64, 2048, 430), (128, 2048, 400)):
        layout = Layout(
            *(batch, 8192, dp, 16, 8, 8, 1, "none"),
            sequence_parallel=True,
            flash=True,
            zero=1,
            overlap_tp=True,
            overlap_dp=True,
        )
        seconds = flops(model, batch).model / (layout.gpus * rate * 1e12)
        rows.append(Row(f"405B on {layout.gpus:,} GPUs", model, layout, seconds))
    return rows
