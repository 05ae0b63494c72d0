"""Measured runs of experts, long sequences and 8 bits, with what is assumed of each.

Sources: Megatron-MoE-ModelZoo (yanring, best_practice/Qwen3/readme.md at c1ad0b5 and
best_practice/Mixtral/run_mixtral_8x22B.sh at 0993e66), Megatron-Bridge (NVIDIA-NeMo,
docs/performance-summary-archive.md at 0a25f91), Megatron-LM (NVIDIA,
megatron/core/transformer/moe/README.md at 022bcb5), DeepSeek-V3 (arXiv 2412.19437, table 1), and
Llama 3 (arXiv 2407.21783, table 4).
"""

from dataclasses import dataclass, replace

from bench.cluster_model.published import LLAMA_70B, LLAMA_405B, NEWEST, llama3
from helpers.clone import ROOT
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.presets import H100, H800
from helpers.cluster.validate import Measurement
from helpers.cost import ModelConfig, MoE, flops, read_config


@dataclass(frozen=True)
class Published:
    """A measured run as its source prints it.

    figure, unit: "s" of a step; or, of one GPU, "tokens/s" or "TFLOP/s".
    assumed: what the source leaves open, or the model cannot say. sets: the constant of the machine
    that is set on this row; "" if it sets none. missed: why the model is more than 15 % away.
    machine: by whose constants it is judged.
    """

    row: Measurement
    machine: Machine
    figure: float
    unit: str
    assumed: str
    sets: str = ""
    missed: str = ""

    @property
    def error(self) -> float:
        """Predicted over measured seconds, minus 1."""
        return self.row.error(self.machine)

    @property
    def predicted(self) -> float:
        """What the model says, in the unit of the source."""
        times = 1 + self.error
        return self.figure * times if self.unit == "s" else self.figure / times


# With the prediction module, which is a layer more, and a second head: twice the logits.
DEEPSEEK = replace(
    read_config(ROOT / "EP/configs/deepseek_v3.json"), layers=62, vocabulary=2 * 129280
)
MIXTRAL_7B = read_config(ROOT / "EP/configs/mixtral_8x7b.json")
MIXTRAL_22B = ModelConfig(
    *("llama", 6144, 56, 48, 8, 128, 16384, 32768, 4096), moe=MoE(8, 2, 16384)
)
QWEN_30B = ModelConfig(*("llama", 2048, 48, 32, 4, 128, 6144, 151936, 4096), moe=MoE(128, 8, 768))
QWEN_235B = ModelConfig(
    *("llama", 4096, 94, 64, 4, 128, 12288, 151936, 4096), moe=MoE(128, 8, 1536)
)
GPT_OSS = ModelConfig(*("llama", 2880, 36, 64, 8, 64, 2880, 201088, 4096), moe=MoE(128, 4, 2880))
NAMES = {
    "Llama 3 70B": LLAMA_70B,
    "Llama 3.1 405B": LLAMA_405B,
    "DeepSeek-V3": DEEPSEEK,
    "Mixtral 8x7B": MIXTRAL_7B,
    "Mixtral 8x22B": MIXTRAL_22B,
    "Qwen3 30B-A3B": QWEN_30B,
    "Qwen3 235B-A22B": QWEN_235B,
    "GPT-OSS 120B": GPT_OSS,
}
WHOLE = {"sequence_parallel": True, "expert_tp": 1}  # attention is cut, experts are not
DEDUP = {"dedup": True}
NORMS = "norms and activations are recomputed there, not here"


def _run(
    name: str,
    figure: float,
    unit: str,
    sizes: tuple[int, ...],
    assumed: str,
    sets: str = "",
    missed: str = "",
    machine: Machine = H100,
    attention: str = "causal",
    **options,
) -> Published:
    """Return a row.

    sizes: batch, sequence; data, pipeline and tensor parallel; chunks, micro-batch.
    attention: which FLOPs the source's TFLOP/s count.
    """
    model, layout = NAMES[name], Layout(*sizes, "none", **NEWEST | {"uneven": True} | options)
    tokens = layout.batch * layout.sequence / layout.gpus
    work = flops(model, layout.batch, layout.sequence, attention).model / layout.gpus
    seconds = {
        "s": figure,
        "tokens/s": tokens / figure,
        "TFLOP/s": work / (figure * 1e12),
    }[unit]
    row = Measurement(name, model, layout, seconds)
    return Published(row, machine, figure, unit, assumed, sets, missed)


def experts() -> list[Published]:
    """Return the runs of mixtures of experts, at 4,096 tokens."""
    qwen, deep = "Qwen3 235B-A22B", "DeepSeek-V3"
    unnamed = (
        "the source doesn't name the dispatch: a plain all-to-all is assumed, as in the recipe, "
        "and with DeepEP's the model is more than a quarter away on the other side"
    )
    alone = (
        "not known for certain; kernels of biases, clamps and recomputation aren't counted, and "
        "with one sequence at a time the host needs nearly as long as the device; heads of 64, "
        "where fused attention is slower, explain some 2 or 3 points"
    )
    busy = (
        "not known for certain; what it recomputes isn't counted, and 20 of its 132 "
        "multiprocessors carry messages all the time (section 3.2.2), while `hidden` takes from "
        "computing only what the two runs that set it say"
    )
    return [
        _run(
            *(deep, 1e12 / 180e3 / 3600, "tokens/s", (15360, 4096, 128, 16, 1, 1, 1)),
            "180,000 GPU hours for 10^12 tokens; batch 15,360 (section 4.2); 61 layers and the "
            "prediction module with its second head, both heads at the end: the first and the last "
            "of 16 stages have 3 layers, the others 4; norms, SwiGLU and latent up-projections are "
            "recomputed there, not here",
            missed=busy,
            machine=H800,
            **DEDUP | {"dispatch_bytes": 1, "fp8": True, "dualpipe": True, "overlap_ep": True},
            ep=64,
        ),
        _run(
            *(deep, 1297, "tokens/s", (8192, 4096, 64, 8, 2, 4, 1)),
            "25.09, dropless; FP8, by the notes of the table; experts sent in 16 bits by DeepEP, "
            "beside computing, as in the recipe; 61 layers and the prediction module with its "
            "second head",
            **WHOLE | DEDUP | {"fp8": True, "overlap_ep": True},
            ep=64,
        ),
        _run(
            *(qwen, 19.7, "s", (2048, 4096, 16, 8, 2, 4, 1)),
            f"DeepEP; {NORMS}",
            sets="matmul",
            **WHOLE | DEDUP,
            ep=32,
        ),
        _run(
            *(qwen, 17.6, "s", (2048, 4096, 16, 8, 2, 4, 1)),
            "the same, sent beside computing",
            sets="hidden",
            **WHOLE | DEDUP | {"overlap_ep": True},
            ep=32,
        ),
        _run(
            *(qwen, 24.2, "s", (2048, 4096, 4, 32, 2, 3, 1)),
            f"plain all-to-all inside the node; {NORMS}",
            **WHOLE,
            ep=8,
        ),
        _run(
            *(qwen, 29.0, "s", (2048, 4096, 8, 8, 4, 4, 1)),
            "DeepEP inside the node",
            **WHOLE | DEDUP,
            ep=8,
        ),
        *(
            _run(
                *(qwen, rate, "tokens/s", (batch, 4096, 16, 8, 2, 4, 1)),
                f"{container}; FP8, a plain all-to-all beside computing, as in the recipe at "
                "01b2977",
                missed="" if batch == 2048 else unnamed,
                **WHOLE | {"fp8": True, "overlap_ep": True},
                ep=32,
            )
            for container, rate, batch in (("25.11", 1575, 2048), ("26.02", 1633, 8192))
        ),
        *(
            _run(
                *("GPT-OSS 120B", rate, "tokens/s", (batch, 4096, 16, 4, 1, 1, micro)),
                f"{container}; all layers attend to all tokens (half of them see 128), no sinks, "
                f"no biases; {NORMS}",
                missed=alone,
                ep=8,
            )
            for container, rate, batch, micro in (("25.11", 5630, 512, 4), ("26.02", 5993, 1280, 1))
        ),
        _run(
            *("Qwen3 30B-A3B", 10494, "tokens/s", (512, 4096, 8, 2, 1, 24, 2)),
            "25.09, tokens above the capacity are dropped; FP8; one layer a chunk",
            ep=8,
            fp8=True,
        ),
        _run(
            *("Qwen3 30B-A3B", 5275, "tokens/s", (512, 4096, 8, 2, 1, 24, 2)),
            "25.11, the same without dropping",
            missed="without a fixed capacity the host waits for the sizes of the experts before it "
            "starts them, which isn't modelled; the row with dropped tokens is the same otherwise",
            ep=8,
            fp8=True,
        ),
        _run(
            *("Mixtral 8x7B", 468, "TFLOP/s", (256, 4096, 16, 4, 1, 8, 1)),
            "the README's figure, with its reference mapping; all scores counted, as Megatron did "
            "in 2024",
            sets="matmul",
            attention="full",
            ep=8,
        ),
        _run(
            *("Mixtral 8x22B", 455, "TFLOP/s", (256, 4096, 8, 8, 2, 1, 1)),
            '"around" 455; sizes from runtime.conf at 30631ea; causal scores counted',
            sets="matmul",
            missed="its products are faster than those of the other three, by whose `matmul` it is "
            "judged; with the constant of all four the row is 11 % away",
            **WHOLE,
            ep=8,
        ),
    ]


def long_context() -> list[Published]:
    """Return the runs of long sequences, of a model with experts and of a dense one."""
    dense = llama3()[2]
    rows = [
        Published(
            *(dense, H100, 380, "TFLOP/s"),
            "causal scores counted; keys and values gathered, as the paper says",
        )
    ]
    for sequence, cp, rate in ((16384, 1, 295), (32768, 2, 335), (65536, 4, 368), (131072, 8, 389)):
        rows.append(
            _run(
                *("Qwen3 235B-A22B", rate, "TFLOP/s", (256, sequence, 8 // cp, 8, 4, 4, 1)),
                "experts forced into balance; a ring; norms and experts are recomputed there, not "
                "here",
                sets="fused" if cp == 8 else "",
                **WHOLE | DEDUP,
                cp=cp,
                ep=8,
            )
        )
    return rows


def eight_bits() -> list[Published]:
    """Return the runs of dense models in FP8 on H100s, at 8,192 tokens."""
    how = {"sequence_parallel": True, "fp8": True}
    hides = "messages of the pipeline, 5 % of the step here, which its software hides"
    return [
        *(
            _run(
                *("Llama 3 70B", rate, "tokens/s", (batch, 8192, 2, 8, 4, 5, 1)),
                container,
                missed=hides if container == "25.09" else "",
                **how,
            )
            for container, rate, batch in (
                ("26.02", 1621, 256),
                ("25.11", 1602, 128),
                ("25.09", 1619, 128),
            )
        ),
        *(
            _run(
                *("Llama 3.1 405B", rate, "tokens/s", (batch, 8192, 8, 8, 8, 8, 1)),
                f"{container}; a ring",
                **how,
                cp=2,
            )
            for container, rate, batch in (
                ("26.02", 311, 1536),
                ("25.11", 292, 512),
                ("25.09", 302, 512),
            )
        ),
    ]
