"""Wrong ways to do PZ-P2, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "the last rank is always the last stage",
        pz.changed(
            "PZ-P2",
            (
                "if after == model.num_layers:",
                "if rank == model.world_size - 1:",
            ),
        ),
        says="waits for rank 2",
    ),
    PlantedMistake(
        "receives from itself",
        pz.changed(
            "PZ-P2",
            (
                "model.receive(rank - 1)",
                "model.receive(rank)",
            ),
        ),
        says="source is 1, this rank itself",
    ),
    PlantedMistake(
        "uses what it has freed",
        pz.changed(
            "PZ-P2",
            (
                "for layer in reversed(mine):",
                "for layer in mine:\n"
                "    if layer > first:\n"
                "        del activations[layer]\n"
                "for layer in reversed(mine):",
            ),
        ),
        says="which it has freed: delete it later",
    ),
    PlantedMistake(
        "forgets the first layer's update",
        pz.changed(
            "PZ-P2",
            (
                "for layer in mine:\n    weights[layer], opt_states[layer] = model.update(",
                "for layer in mine[1:]:\n    weights[layer], opt_states[layer] = model.update(",
            ),
        ),
        says="no rank has handed in a new weight of layer 0",
    ),
)
