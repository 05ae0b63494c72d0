"""Wrong ways to do PZ-4, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "whole weights on every rank",
        pz.changed(
            "PZ-4",
            (
                "model.load_weights(layer, model.rank, model.world_size)",
                "model.load_weights(layer)",
            ),
        ),
        says="are enough: keep one whole weight at a time",
    ),
    PlantedMistake(
        "forward with a shard",
        pz.changed(
            "PZ-4",
            (
                'model.forward(layer, activations[layer], weights["whole"])',
                "model.forward(layer, activations[layer], weights[layer])",
            ),
        ),
        says="it needs the whole weight, and got the weight of layer 0, shard",
    ),
    PlantedMistake(
        "keeps the whole weights",
        pz.changed(
            "PZ-4",
            (
                "    activations[layer + 1] = model.forward(layer, "
                'activations[layer], weights["whole"])\n'
                '    del weights["whole"]\n',
                "    activations[layer + 1] = model.forward(layer, "
                'activations[layer], weights["whole"])\n'
                '    weights[layer, "whole"] = weights.pop("whole")\n',
            ),
        ),
        says="are enough: keep one whole weight at a time",
    ),
    PlantedMistake(
        "the same shard on every rank",
        pz.changed(
            "PZ-4",
            (
                "model.load_weights(layer, model.rank, model.world_size)",
                "model.load_weights(layer, 0, model.world_size)",
            ),
        ),
        says="it needs the whole weight, and got the weight of layer 0, shard 0 of 4",
    ),
)
