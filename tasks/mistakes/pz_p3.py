"""Wrong ways to do PZ-P3, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "GPipe",
        pz.changed(
            "PZ-P3",
            (
                "warm_up = min(stages - rank - 1, len(batches))",
                "warm_up = len(batches)",
            ),
        ),
        says="are enough: after the warm-up each forward is followed by a backward",
    ),
    PlantedMistake(
        "one micro-batch at a time",
        pz.changed(
            "PZ-P3",
            (
                "warm_up = min(stages - rank - 1, len(batches))",
                "warm_up = 0",
            ),
        ),
        says="take the next one before the first one comes back",
    ),
    PlantedMistake(
        "a micro-batch forgotten",
        pz.changed(
            "PZ-P3",
            (
                "    if number >= warm_up:\n",
                "    if number > warm_up:\n",
            ),
        ),
        says="in the gradient: add or reduce the gradients of all micro-batches",
    ),
    PlantedMistake(
        "all stages wait for the rank after the last layer",
        pz.changed(
            "PZ-P3",
            (
                "stages = min(model.world_size, model.num_layers)",
                "stages = model.world_size",
            ),
        ),
        says="waits for rank 3",
    ),
    PlantedMistake(
        "backward of another micro-batch",
        pz.changed(
            "PZ-P3",
            (
                "await backward(number - warm_up)",
                "await backward(min(number - warm_up + 1, len(batches) - 1) if rank "
                "== stages - 1 else number - warm_up)",
            ),
        ),
        says="rank 15 has no activations[(32, 1)]: nothing was put there",
    ),
)

ALSO_RIGHT = {
    "in three loops": pz.changed(
        "PZ-P3",
        (
            "for number in range(len(batches) + warm_up):\n"
            "    if number < len(batches):\n"
            "        await forward(number)\n"
            "    if number >= warm_up:\n"
            "        await backward(number - warm_up)\n",
            "for number in range(warm_up):\n"
            "    await forward(number)\n"
            "for number in range(warm_up, len(batches)):\n"
            "    await forward(number)\n"
            "    await backward(number - warm_up)\n"
            "for number in range(len(batches) - warm_up, len(batches)):\n"
            "    await backward(number)\n",
        ),
    ),
}
