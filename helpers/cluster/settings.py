"""A model, a machine and a layout as controls show them, and the picture of any setting."""

from helpers.cluster.bars import memory_bars, time_bars
from helpers.cluster.estimate import Estimate, estimate
from helpers.cluster.layout import Layout
from helpers.cluster.presets import PRESETS, preset
from helpers.cost import ModelConfig, gpt
from helpers.words import bytes_text, percent, time_text

MODELS = {
    "GPT-2 XL, 1.6B": gpt(1600, 48, 25, 1024, 50304),
    "LLaMA-7B": ModelConfig("llama", 4096, 32, 32, 32, 128, 11008, 32000, 2048),
    "Llama 3 8B": ModelConfig("llama", 4096, 32, 32, 8, 128, 14336, 128256, 8192),
    "Llama 3 70B": ModelConfig("llama", 8192, 80, 64, 8, 128, 28672, 128256, 8192),
    "GPT-3, 175B": gpt(12288, 96, 96),
    "a GPT of 1T": gpt(25600, 128, 160),
}
POWERS = tuple(2**k for k in range(11))
LISTS = {
    "model": tuple(MODELS),
    "machine": tuple(PRESETS),
    "recompute": ("none", "selective", "full"),
}
STEPS = {
    "dp": POWERS,
    "pp": (1, 2, 4, 8, 16, 32, 64),
    "tp": (1, 2, 4, 8),
    "chunks": (1, 2, 3, 4),
    "micro_batch": (1, 2, 4, 8, 16),
    "micro_batches": POWERS,
    "zero": (0, 1, 2, 3),
}
CHECKS = ("sequence_parallel", "flash")
START = dict.fromkeys(STEPS, 1) | {"micro_batches": 8, "zero": 0}
START |= {"model": "LLaMA-7B", "machine": "A100", "recompute": "none"} | dict.fromkeys(
    CHECKS, False
)


def with_batch(settings: dict, batch: int) -> dict:
    """Return the settings with as many micro-batches as keep the batch, if it divides so."""
    pieces = batch / (settings["dp"] * settings["micro_batch"])
    if pieces not in STEPS["micro_batches"]:
        return settings
    return settings | {"micro_batches": int(pieces)}


def made(settings: dict) -> Estimate:
    """The estimate of these settings. ValueError, one sentence, where there is none."""
    rest = dict(settings)
    name, machine = rest.pop("model"), preset(rest.pop("machine"))
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}: choose one of {', '.join(MODELS)}")
    model = MODELS[name]
    batch = rest["dp"] * rest["micro_batch"] * rest.pop("micro_batches")
    return estimate(model, Layout(batch, model.positions, **rest), machine)


def pictures_of(done: Estimate) -> list:
    """Return the picture of an estimate's memory, and that of its time if it fits."""
    layout, memory = done.layout, bytes_text(done.memory.total)
    note = f"{layout.gpus} x {done.machine.name}, batch {layout.batch}: {memory} a device, "
    if not done.fits:
        note += f"it does not fit into {bytes_text(done.machine.memory)}, so no step runs"
        return [memory_bars({"memory": done}, note)]
    note += f"it fits; a step takes {time_text(done.seconds)}, "
    note += f"MFU {percent(done.utilisation.mfu)}"
    return [memory_bars({"memory": done}, note), time_bars({"time": done})]
