"""Wrong ways to do PZ-6, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "rank 0 receives too",
        pz.changed(
            "PZ-6",
            (
                "if rank == 0:",
                "if rank == 9:",
            ),
        ),
        says="rank 0, receive: there is no rank -1",
    ),
    PlantedMistake(
        "sends to itself",
        pz.changed(
            "PZ-6",
            (
                "await model.send(rank + 1, activations[after])",
                "await model.send(rank, activations[after])",
            ),
        ),
        says="dest is 0, this rank itself",
    ),
    PlantedMistake(
        "never sends back",
        pz.without(
            "PZ-6", "if rank > 0:", "await model.send(rank - 1, grad_activations[first - 1])"
        ),
        says="receives from rank 3",
    ),
    PlantedMistake(
        "sends back the wrong gradient",
        pz.changed(
            "PZ-6",
            (
                "model.send(rank - 1, grad_activations[first - 1])",
                "model.send(rank - 1, grad_weights[first])",
            ),
        ),
        says="it needs an activation gradient, and got the weight gradient of layer 6",
    ),
    PlantedMistake(
        "loads everything",
        pz.changed(
            "PZ-6",
            (
                "for layer in mine:\n    weights[layer]",
                "for layer in range(model.num_layers):\n    weights[layer]",
            ),
        ),
        says="its copy is stale",
    ),
)
