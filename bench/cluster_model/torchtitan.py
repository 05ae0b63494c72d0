"""torchtitan's runs of Llama 3 with FSDP on H100s."""

from dataclasses import replace

from bench.cluster_model.experts import Published
from bench.cluster_model.published import LLAMA_8B, LLAMA_70B, LLAMA_405B
from helpers.cluster.layout import Layout
from helpers.cluster.presets import H100
from helpers.cluster.validate import Measurement

# Its devices: H100s of 96 GB with 2.4 TB/s, at 500 W.
MACHINE = replace(H100, memory=96e9, memory_bandwidth=2.4e12)
_MODELS = {"8B": LLAMA_8B, "70B": LLAMA_70B, "405B": LLAMA_405B}
# Name, how, GPUs, data parallel, PP, TP, chunks, micro-batch, batch, tokens/s a GPU.
_ROWS = (
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
_ASSUMED = {
    "8B": 'recomputation by "op", as in llama3_8b.toml',
    "70B": "everything recomputed",
    "405B": "everything recomputed; as many micro-batches as stages",
}
_ALIKE = (
    "devices at 500 W are taken to be as fast as at 700, and fused attention to be as fast as "
    "`fused` says. FlashAttention-2 reaches 35 % of an H100's peak (arXiv 2407.08608); with that, "
    "and products slower by the cube root of the power, the rows would be {} away"
)
_MISSED = {
    "8B, eager": "kernels are counted as fused, and without that a step takes 16 % longer, as the "
    "compiled rows show; the rest is what those miss too",
    "8B, compile": _ALIKE.format("11 and 14 %"),
    "8B, compile, float8": _ALIKE.format("16 and 18 %")
    + "; and finding the scales of float8 isn't counted",
    "405B, compile, float8, async TP": _ALIKE.format("12 and 14 %"),
}


def torchtitan() -> list[Published]:
    """Return tables 1, 3, 4 and 5 of torchtitan's benchmark of December 2024.

    https://github.com/pytorch/torchtitan at 31a17bf, benchmarks/llama3_h100_202412_torchtitan.md.
    8B: selective checkpointing by "op", as in its llama3_8b.toml; the others full. In a pipeline
    FSDP keeps gathered weights and whole gradients for the step, which is ZeRO 1; there are as many
    micro-batches as stages (pipelining_utils.py). The source doesn't say how many chunks its
    interleaved row has; torch's default is 2.
    """
    rows = []
    for name, how, gpus, dp, p, t, v, mb, batch, rate in _ROWS:
        layout = Layout(
            *(batch, 8192, dp, p, t, v, mb, "op" if name == "8B" else "full"),
            **{"flash": True, "overlap_dp": True, "fp32_gradients": True},
            zero=3 if p == 1 else 1,
            sequence_parallel=t > 1,
            overlap_tp="async TP" in how,
            uneven=p > 1,
            fp8="float8" in how,
        )
        row = Measurement(f"{name}, {how}", _MODELS[name], layout, batch * 8192 / (gpus * rate))
        assumed = _ASSUMED[name] + "; 2 chunks, torch's default" * (v > 1)
        rows.append(
            Published(row, MACHINE, rate, "tokens/s", assumed, missed=_MISSED.get(row.name, ""))
        )
    return rows
