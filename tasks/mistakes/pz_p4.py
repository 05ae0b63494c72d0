"""Wrong ways to do PZ-P4, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "plain data parallel",
        "from utils import get_next_microbatch\n" + pz.solution("PZ-P0"),
        says="are enough: the MFU must be 80 % at least",
    ),
    PlantedMistake(
        "ZeRO-3",
        "from utils import get_next_microbatch\n" + pz.solution("PZ-P1"),
        says="are enough: the MFU must be 80 % at least",
    ),
    PlantedMistake(
        "gradients that claim all samples",
        pz.changed(
            "PZ-P4",
            (
                "started[layer] = model.reduce_scatter(grad_weights.pop(layer), layer)",
                "from lib import WeightGrad\n"
                "            grad = WeightGrad(layer, last + 1, range(samples), samples)\n"
                "            started[layer] = model.reduce_scatter(grad, layer)",
            ),
        ),
        says="was built by hand, and nobody has computed it",
    ),
    PlantedMistake(
        "half of the batch",
        pz.changed(
            "PZ-P4",
            (
                "batches = [mine[i : i + batch_size] for i in range(0, len(mine), "
                "batch_size)] or [mine]",
                "batches = [mine[: len(mine) // 2]]",
            ),
        ),
        says="are missing in the gradient",
    ),
    PlantedMistake(
        "the last reduce_scatter is not awaited",
        pz.changed(
            "PZ-P4",
            (
                "grad_weights[0] = await started.pop(0)",
                "grad_weights[0] = model.empty_grad(0).shard(rank, ranks)",
            ),
        ),
        says="are missing in the gradient",
    ),
)
