"""Wrong ways to do PZ-1, each to be caught with words of its own."""

from pathlib import Path

from helpers.grade import PlantedMistake
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_mistakes_pz")

MISTAKES = (
    PlantedMistake(
        "never frees an activation",
        pz.without(
            "PZ-1", "del activations[layer], grad_activations[layer]", "del grad_activations[-1]"
        ),
        says="elements, and 2,621,440 are enough: delete each activation",
    ),
    PlantedMistake(
        "forgets the update",
        pz.changed(
            "PZ-1",
            (
                "new, _ = model.update(layer, grad_weights[layer], weights[layer], "
                "opt_states[layer])",
                "new = weights[layer]",
            ),
        ),
        says="is the old one, of step 0: hand in what update gave",
    ),
    PlantedMistake(
        "backward from the first layer",
        pz.changed(
            "PZ-1",
            (
                "for layer in reversed(range(model.num_layers)):",
                "for layer in range(model.num_layers):",
            ),
        ),
        says="rank 0 has no grad_activations[0]: nothing was put there",
    ),
    PlantedMistake(
        "one layer too few",
        pz.changed(
            "PZ-1",
            (
                "    new, _",
                "    if layer == 1:\n        continue\n    new, _",
            ),
        ),
        says="no rank has handed in a new weight of layer 1",
    ),
    PlantedMistake(
        "a gradient made up",
        pz.changed(
            "PZ-1",
            (
                "grad_weights[layer], grad_activations[layer - 1] = model.backward(",
                "from lib import WeightGrad\n"
                "    grad_weights[layer] = WeightGrad(layer, model.num_layers, range(4), 4)\n"
                "    _, grad_activations[layer - 1] = model.backward(",
            ),
        ),
        says="was built by hand, and nobody has computed it",
    ),
    PlantedMistake(
        "returns nothing",
        pz.changed(
            "PZ-1",
            (
                "activations[0] =",
                "return\nactivations[0] =",
            ),
        ),
        says="the step of rank 0 returned nothing: end it with `return model`",
    ),
)
